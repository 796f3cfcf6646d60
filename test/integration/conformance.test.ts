import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import type { ConformanceServer } from "../support/conformance/conformance-server.ts";
import { openConformanceServer } from "../support/conformance/conformance-server.ts";

const ROOT = resolve(import.meta.dirname, "../..");
const SUITE = join(ROOT, "node_modules/@modelcontextprotocol/conformance");
const SHIM = pathToFileURL(join(ROOT, "test/fixtures/conformance-on-node-20.mjs")).href;
const TIMEOUT_MS = 300_000;
const run = promisify(execFile);

/** The scenarios that the suite's own list of a revision requires of a server. */
function requiredOf(revision: string): readonly string[] {
  const text = readFileSync(join(SUITE, `requirements/${revision}.yaml`), "utf8");
  const server = /^server:\n((?: {2}- .+\n)+)/m.exec(text)?.[1] ?? "";
  return [...server.matchAll(/^ {2}- (\S+)/gm)].map((match) => match[1] ?? "");
}

async function runSuite({ url, token }: ConformanceServer, revision: string): Promise<string> {
  const suite = ["--import", SHIM, join(SUITE, "dist/index.js"), "server", "--url", url.href, "--requirements", revision];
  const env = { ...process.env, CONFORMANCE_TOKEN: token };
  const { stdout, stderr } = await run(process.execPath, suite, { env, maxBuffer: 64 * 1_048_576, timeout: TIMEOUT_MS }).catch(
    (error: unknown) => {
      const { stdout: out, stderr: err } = error as { stdout?: string; stderr?: string };
      throw new Error(`The suite found failures:\n${out ?? ""}\n${err ?? ""}`);
    },
  );
  return `${stdout}\n${stderr}`;
}

it.each(["2025-11-25", "2026-07-28"])(
  "meets what the conformance suite requires of a server of %s",
  async (revision) => {
    await using server = await openConformanceServer();
    const report = await runSuite(server, revision);
    const required = requiredOf(revision);
    expect(required.length).toBeGreaterThan(25);
    const passed = [...report.matchAll(/^✓ (\S+): [1-9]\d* passed, 0 failed$/gm)].map((match) => match[1]);
    expect(required.filter((scenario) => !passed.includes(scenario))).toEqual([]);
    // A few requests of the suite are made without fetch, and so without the token.
    expect(server.audited.filter(({ principal }) => principal === server.caller).length).toBeGreaterThan(10);
  },
  TIMEOUT_MS,
);
