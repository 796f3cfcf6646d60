import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
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

export interface SuiteTarget {
  readonly url: URL;
  readonly token?: string;
}

/** The scenarios in which something was checked and nothing failed. Rejects with the suite's report if a scenario failed. */
export async function runSuite(target: SuiteTarget, revision: string): Promise<readonly string[]> {
  const { report, hasFailed } = await runWith(target, ["--requirements", revision]);
  if (hasFailed) throw new Error(`The suite found failures:\n${report}`);
  return passedIn(report);
}

/** The same, also where some failed. */
export async function passedOf(target: SuiteTarget, revision: string): Promise<readonly string[]> {
  return passedIn((await runWith(target, ["--requirements", revision])).report);
}

/** The checks of one scenario that failed. */
export async function failedChecks(target: SuiteTarget, revision: string, scenario: string): Promise<readonly string[]> {
  const folder = await mkdtemp(join(tmpdir(), "bj-suite-"));
  try {
    await runWith(target, ["--scenario", scenario, "--spec-version", revision, "-o", folder]);
    const [made = ""] = await readdir(folder);
    const checks = JSON.parse(await readFile(join(folder, made, "checks.json"), "utf8")) as readonly { id: string; status: string }[];
    if (!checks.some(({ status }) => status === "SUCCESS")) throw new Error(`Nothing was checked of ${scenario}`);
    return checks.filter(({ status }) => status === "FAILURE").map(({ id }) => id);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

function passedIn(report: string): readonly string[] {
  return [...report.matchAll(/^✓ (\S+): [1-9]\d* passed, 0 failed$/gm)].map((match) => match[1] ?? "");
}

async function runWith({ url, token }: SuiteTarget, options: readonly string[]) {
  const suite = ["--import", SHIM, join(SUITE, "dist/index.js"), "server", "--url", url.href, ...options];
  const { CONFORMANCE_TOKEN: _, ...inherited } = process.env;
  const env = { ...inherited, ...(token !== undefined && { CONFORMANCE_TOKEN: token }) };
  const settings = { env, maxBuffer: 64 * 1_048_576, timeout: SUITE_TIMEOUT_MS };
  try {
    const { stdout, stderr } = await run(process.execPath, suite, settings);
    return { report: `${stdout}\n${stderr}`, hasFailed: false };
  } catch (error) {
    const { stdout: out, stderr: err } = error as { stdout?: string; stderr?: string };
    return { report: `${out ?? ""}\n${err ?? ""}`, hasFailed: true };
  }
}
