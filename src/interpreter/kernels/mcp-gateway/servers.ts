import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, rename, rm } from "node:fs/promises";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { Client } from "@modelcontextprotocol/client";
import type { jsonSchemaValidator, Tool } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import type { Entry } from "./entries.ts";

/** Of each step: the clone, the installation, the server's first answer. */
const STEP_MS = 120_000;
const SAID_MAX = 2_000;
const OUTPUT_MAX_BYTES = 16 * 1_048_576;
const PAGES_MAX = 100;
const run = promisify(execFile);
/** Results are passed on as they are: the client checks them. The SDK's own validator would bring Ajv into this file. */
export const PASSING: jsonSchemaValidator = {
  getValidator: () => (input) => ({ valid: true, data: input as never, errorMessage: undefined }),
};

/** A server that has answered, and its tools. */
export interface Served {
  readonly name: string;
  readonly client: Client;
  readonly tools: readonly Tool[];
}

/** Clones and installs what must be, and starts the server. Rejects with what it said last. */
export async function startServer(entry: Entry): Promise<Served> {
  const cwd = entry.repository === undefined ? undefined : await fetchRepository(entry.repository, entry);
  const [command, ...args] = entry.argv;
  const transport = new StdioClientTransport({
    command,
    args,
    env: environmentOf(entry),
    stderr: "pipe",
    ...(cwd !== undefined && { cwd }),
  });
  let said = "";
  transport.stderr?.on("data", (chunk: Buffer) => (said = (said + chunk.toString()).slice(-SAID_MAX)));
  const client = new Client({ name: "mcp-gateway", version: "1.0.0" }, { jsonSchemaValidator: PASSING });
  try {
    await client.connect(transport, { timeout: STEP_MS });
    return { name: entry.name, client, tools: await listTools(client) };
  } catch (error) {
    await client.close().catch(() => undefined);
    throw new Error(`${String(error)}${said === "" ? "" : `: ${said.trim()}`}`, { cause: error });
  }
}

async function listTools(client: Client): Promise<readonly Tool[]> {
  const tools: Tool[] = [];
  let cursor: string | undefined;
  for (let page = 0; page < PAGES_MAX; page++) {
    const answer = await client.listTools(cursor === undefined ? {} : { cursor }, { timeout: STEP_MS });
    tools.push(...answer.tools);
    cursor = answer.nextCursor;
    if (cursor === undefined) break;
  }
  return tools;
}

/** The folder of a clone, whose commands have run to their end once. */
async function fetchRepository(repository: string, entry: Entry): Promise<string> {
  const folder = join(homedir(), ".mcp-gateway", repository);
  if (existsSync(folder)) return folder;
  const making = `${folder}.making`;
  await rm(making, { recursive: true, force: true });
  await mkdir(dirname(folder), { recursive: true });
  const options = { env: environmentOf(entry), timeout: STEP_MS, maxBuffer: OUTPUT_MAX_BYTES };
  await run("git", ["clone", "--depth", "1", "--", `https://github.com/${repository}`, making], options).catch(tellEnd);
  if (entry.install !== undefined) await run("/bin/sh", ["-c", entry.install], { ...options, cwd: making }).catch(tellEnd);
  await rename(making, folder);
  return folder;
}

function tellEnd(error: unknown): never {
  const { stderr } = error as { readonly stderr?: unknown };
  throw new Error(typeof stderr === "string" && stderr !== "" ? stderr.trim().slice(-SAID_MAX) : String(error), { cause: error });
}

/** What this program has, but the token of its own clients. */
function environmentOf({ env }: Entry): Record<string, string> {
  const { GATEWAY_ACCESS_TOKEN: _, ...own } = process.env;
  return { ...own, ...env } as Record<string, string>;
}
