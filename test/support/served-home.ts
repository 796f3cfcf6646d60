import type { ChildProcess } from "node:child_process";
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline";
import { promisify } from "node:util";
import { hasSandboxes, hasSnapshots } from "./left-in-home.ts";
import { makeSharingHome } from "./share-base.ts";

const ROOT = resolve(import.meta.dirname, "../..");
export const CLI = join(ROOT, "bin/belljar.js");
const run = promisify(execFile);

/** A home of its own; disposing it kills its sandboxes, and removes their snapshots and the home. */
export interface TestHome extends AsyncDisposable {
  readonly path: string;
  readonly env: Readonly<Record<string, string>>;
  /** Stdout of one command. Rejects when it fails. */
  belljar(...argv: string[]): Promise<string>;
}

/**
 * Settings lie in the home, since some clients start servers with little more than HOME in their environment. No sandbox waits: one of a server
 * that a test kills would live on for minutes.
 */
export async function openTestHome(): Promise<TestHome> {
  const path = await mkdtemp(join(tmpdir(), "bjmcp-"));
  const env = { PATH: process.env["PATH"] ?? "", HOME: path };
  makeSharingHome(join(path, ".belljar"));
  await writeFile(
    join(path, ".belljar/config.json"),
    JSON.stringify({ storage: "home", secretsKey: "file", runtimeDirectory: join(path, "run"), pool: { sandboxes: 0, programs: 0 } }),
  );
  const belljar = async (...argv: string[]): Promise<string> => (await run(process.execPath, [CLI, ...argv], { env })).stdout;
  return {
    path,
    env,
    belljar,
    async [Symbol.asyncDispose]() {
      const home = join(path, ".belljar");
      const live = JSON.parse(hasSandboxes(home) ? await belljar("sandbox", "list", "--json") : "[]") as { id: string }[];
      for (const { id } of live) await belljar("sandbox", "kill", id);
      // Their files may have owners inside, whose folders an ordinary user cannot remove.
      const kept = JSON.parse(hasSnapshots(home) ? await belljar("snapshot", "list", "--json") : "[]") as { id: string }[];
      if (kept.length > 0) await belljar("snapshot", "remove", ...kept.map(({ id }) => id));
      await rm(path, { recursive: true, force: true });
    },
  };
}

export interface TestServer extends AsyncDisposable {
  readonly url: string;
  readonly process: ChildProcess;
}

/** `belljar serve`, on a free port unless one is named; disposing it stops it. */
export async function openTestServer(home: TestHome, port = 0, ...argv: string[]): Promise<TestServer> {
  const child = spawn(process.execPath, [CLI, "serve", "--port", String(port), ...argv], {
    env: home.env,
    stdio: ["ignore", "inherit", "pipe"],
  });
  const exited = once(child, "exit");
  return {
    url: await announcedUrl(child),
    process: child,
    async [Symbol.asyncDispose]() {
      child.kill("SIGTERM");
      await exited;
    },
  };
}

async function announcedUrl(child: ChildProcess): Promise<string> {
  if (!child.stderr) throw new TypeError("The server's stderr is not piped");
  const said: string[] = [];
  const lines = createInterface({ input: child.stderr });
  for await (const line of lines) {
    said.push(line);
    const match = /MCP at (\S+)\/mcp/.exec(line);
    if (!match?.[1]) continue;
    child.stderr.resume();
    return match[1];
  }
  throw new Error(`The server ended before it listened:\n${said.join("\n")}`);
}
