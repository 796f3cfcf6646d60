import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";

const ROOT = resolve(import.meta.dirname, "../../..");
const SUITE = join(ROOT, "node_modules/@modelcontextprotocol/conformance");
const SHIM = pathToFileURL(join(ROOT, "test/fixtures/conformance-on-node-20.mjs")).href;
export const SUITE_TIMEOUT_MS = 300_000;
const run = promisify(execFile);

/** The scenarios that the suite's own list of a revision requires of a server. */
export function requiredOf(revision: string): readonly string[] {
  const text = readFileSync(join(SUITE, `requirements/${revision}.yaml`), "utf8");
  const server = /^server:\n((?: {2}- .+\n)+)/m.exec(text)?.[1] ?? "";
  return [...server.matchAll(/^ {2}- (\S+)/gm)].map((match) => match[1] ?? "");
}

/** The scenarios in which something was checked and nothing failed. Rejects with the suite's report if a scenario failed. */
export async function runSuite(
  { url, token }: { readonly url: URL; readonly token?: string },
  revision: string,
): Promise<readonly string[]> {
  const suite = ["--import", SHIM, join(SUITE, "dist/index.js"), "server", "--url", url.href, "--requirements", revision];
  const { CONFORMANCE_TOKEN: _, ...inherited } = process.env;
  const env = { ...inherited, ...(token !== undefined && { CONFORMANCE_TOKEN: token }) };
  const options = { env, maxBuffer: 64 * 1_048_576, timeout: SUITE_TIMEOUT_MS };
  const { stdout, stderr } = await run(process.execPath, suite, options).catch((error: unknown) => {
    const { stdout: out, stderr: err } = error as { stdout?: string; stderr?: string };
    throw new Error(`The suite found failures:\n${out ?? ""}\n${err ?? ""}`);
  });
  return [...`${stdout}\n${stderr}`.matchAll(/^✓ (\S+): [1-9]\d* passed, 0 failed$/gm)].map((match) => match[1] ?? "");
}
