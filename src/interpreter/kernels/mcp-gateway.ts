import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { mkdir, writeFile } from "node:fs/promises";
import { parseArgs } from "node:util";
import type { Entries } from "./mcp-gateway/entries.ts";
import { parseEntries, REMEDY } from "./mcp-gateway/entries.ts";
import { serve } from "./mcp-gateway/serve.ts";
import type { Served } from "./mcp-gateway/servers.ts";
import { startServer } from "./mcp-gateway/servers.ts";

/**
 * Runs inside a sandbox as `mcp-gateway --config JSON`, which E2B's clients call as root once the sandbox is made with `mcp`. It starts the servers
 * of the configuration, and goes once they are served: a second process stays, without this one's terminal and pipes.
 */
const FOLDER = "/etc/mcp-gateway";
const STAYING = "MCP_GATEWAY_STAYS";

/** What the staying process tells the first one. */
interface Report {
  readonly problems: readonly string[];
  readonly isServing: boolean;
}

async function begin(): Promise<number> {
  const { values, positionals } = parseArgs({ options: { config: { type: "string" } }, allowPositionals: true });
  if (positionals[0] === "pull") return fail(positionals.slice(1).map((name) => `${name}: not served, as ${REMEDY}`));
  if (values.config === undefined) return fail(["give the servers with --config JSON"]);
  const entries = parseEntries(values.config);
  if (entries.entries.length === 0) return fail(entries.refused.length > 0 ? entries.refused : ["the configuration names no server"]);
  const { problems, isServing } = await startStaying(entries);
  fail([...entries.refused, ...problems]);
  return isServing ? 0 : 1;
}

function fail(problems: readonly string[]): 1 {
  for (const problem of problems) process.stderr.write(`mcp-gateway: ${problem}\n`);
  return 1;
}

async function startStaying(entries: Entries): Promise<Report> {
  const token = process.env["GATEWAY_ACCESS_TOKEN"] ?? randomUUID();
  const child = spawn(process.execPath, process.argv.slice(1, 2), {
    detached: true,
    env: { ...process.env, [STAYING]: "1", GATEWAY_ACCESS_TOKEN: token },
    stdio: ["ignore", "ignore", "ignore", "ipc"],
  });
  child.send(entries);
  const report = await Promise.race([
    once(child, "message").then(([told]) => told as Report),
    once(child, "exit").then(([code]): Report => ({ problems: [`it ended (${code})`], isServing: false })),
  ]);
  if (child.connected) child.disconnect();
  child.unref();
  return report;
}

async function stay(): Promise<void> {
  const { [STAYING]: _, GATEWAY_ACCESS_TOKEN: token = "" } = process.env;
  delete process.env[STAYING];
  const [{ entries }] = (await once(process, "message")) as [Entries];
  const started = await Promise.allSettled(entries.map(startServer));
  const problems = started.flatMap((one, at) => (one.status === "rejected" ? [`${entries[at]?.name}: ${textOf(one.reason)}`] : []));
  const served = started.flatMap((one): Served[] => (one.status === "fulfilled" ? [one.value] : []));
  const problem = served.length === 0 ? undefined : await open(served, token).catch((error: unknown) => textOf(error));
  const isServing = served.length > 0 && problem === undefined;
  const report: Report = { problems: problem === undefined ? problems : [...problems, problem], isServing };
  process.send?.(report, () => !isServing && process.exit(1));
}

async function open(served: readonly Served[], token: string): Promise<undefined> {
  await mkdir(FOLDER, { recursive: true, mode: 0o700 });
  await writeFile(`${FOLDER}/.token`, token, { mode: 0o600 });
  await serve(served, token);
}

function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

if (process.env[STAYING] === "1") await stay();
else process.exitCode = await begin().catch((error: unknown) => fail([textOf(error)]));
