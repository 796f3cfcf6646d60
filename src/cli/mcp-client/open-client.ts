import { homedir } from "node:os";
import { join } from "node:path";
import { loadConfig } from "../../config/config.ts";
import { BelljarError } from "../../errors.ts";
import { readMcpConfig, openMcpClient } from "../../mcp/client/open-mcp-client.ts";
import type { McpClient } from "../../mcp/client/mcp-client.ts";
import type { RequestOptions } from "../../mcp/client/server-session.ts";
import type { CommandCall, CommandContext } from "../command.ts";
import { textOption } from "../command.ts";
import { readPackage } from "../compose/package-root.ts";
import { printLine } from "../print.ts";
import { withProgress } from "../progress.ts";
import { didYouMean } from "../suggest.ts";
import { usage } from "../usage.ts";
import { parseDuration } from "../values.ts";
import { openAsking } from "./ask-person.ts";
import { loginsOf } from "./logins.ts";
import { openWireLog } from "./wire-log.ts";

/** The servers of the command's file, with the options of its requests. Disposing it ends the servers. */
export interface CliClient extends AsyncDisposable {
  readonly client: McpClient;
  readonly request: RequestOptions;
  /** While this work runs, and at no other time, servers can ask the person at the terminal. */
  readonly during: <Value>(work: () => Promise<Value>) => Promise<Value>;
}

/** Starts the named server, or all, for one piece of work, during which they can ask, and ends them. Rejects as `openClient`. */
export async function withClient(
  call: CommandCall,
  context: CommandContext,
  server: string | undefined,
  work: (open: CliClient) => Promise<number>,
): Promise<number> {
  await using open = await openClient(call, context, server);
  return await open.during(() => work(open));
}

/**
 * Starts the named server, or all. Rejects with `USAGE` for a name that the file does not have, and with the server's own error if the
 * named one, or each of them, failed. Others that failed are told on stderr.
 */
export async function openClient(call: CommandCall, context: CommandContext, server?: string): Promise<CliClient> {
  const timeout = textOption(call, "timeout");
  const request = { signal: context.signal, ...(timeout !== undefined && { timeoutMs: parseDuration("timeout", timeout) }) };
  const config = configOf(call, context);
  await checkServerName(config, call, server);
  const { env, signal } = context;
  const wire = textOption(call, "wire");
  const log = wire === undefined ? undefined : await openWireLog(wire);
  try {
    const places = { env, workspaceFolder: process.cwd(), userHome: homedir(), version: readPackage().version };
    const { during, ...asking } = openAsking(context);
    const only = server === undefined ? {} : { only: [server] };
    const opening = openMcpClient({
      config,
      ...places,
      ...only,
      ...asking,
      logins: loginsOf(call, context),
      ...(log && { onMessage: log.add }),
      signal,
    });
    const client = await withProgress(context.stderr, "Starting the servers", opening);
    const close = async (): Promise<void> => {
      await client[Symbol.asyncDispose]();
      await log?.close();
    };
    await tellFailures(client, context, server).catch(async (cause: unknown) => {
      await close();
      throw cause;
    });
    return { client, request, during, [Symbol.asyncDispose]: close };
  } catch (cause) {
    await log?.close();
    throw cause;
  }
}

/** The path of the file with the servers. */
export function configOf(call: CommandCall, { env }: CommandContext): string {
  return textOption(call, "config") ?? join(loadConfig({ env, flags: { home: textOption(call, "home") } }).home, "mcp.json");
}

/** Rejects with `USAGE`, and the nearest name, for a server that the file does not have. */
export async function checkServerName(path: string, { spec }: CommandCall, server: string | undefined): Promise<void> {
  if (server === undefined) return;
  const { file, config } = await readMcpConfig(path);
  const names = config.servers.map(({ name }) => name);
  if (names.includes(server)) return;
  const known = names.length === 0 ? "It names none" : `It names ${names.slice(0, 20).join(", ")}`;
  throw usage(`${file} names no server "${server}"${didYouMean(server, names) || "."} ${known}`, `belljar ${spec.name} --help`);
}

async function tellFailures({ servers }: McpClient, { stderr }: CommandContext, named: string | undefined): Promise<void> {
  const failed = servers.flatMap(({ error }) => error ?? []);
  const [first] = failed;
  if (named !== undefined && servers.some(({ state }) => state === "disabled"))
    throw new BelljarError("USAGE", `The server "${named}" is disabled in the file: remove "disabled" there`);
  if (first && !servers.some(({ state }) => state === "ready")) {
    tell(stderr, failed.slice(1));
    throw first;
  }
  tell(stderr, failed);
}

/** The last lines of a server's stderr stay lines. */
function tell(stderr: CommandContext["stderr"], errors: readonly BelljarError[]): void {
  for (const { message } of errors) printLine(stderr, `belljar: ${message}`);
}
