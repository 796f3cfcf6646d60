import { homedir } from "node:os";
import { BelljarError } from "../../errors.ts";
import type { PlacedClientOptions, ReadConfig } from "../../mcp/client/open-mcp-client.ts";
import { openReadClient } from "../../mcp/client/open-mcp-client.ts";
import type { McpClient } from "../../mcp/client/mcp-client.ts";
import type { RequestOptions } from "../../mcp/client/server-session.ts";
import type { CommandCall, CommandContext } from "../command.ts";
import { isSet, textOption } from "../command.ts";
import { readPackage } from "../compose/package-root.ts";
import { printLine } from "../print.ts";
import { withProgress } from "../progress.ts";
import { parseDuration } from "../values.ts";
import { openAsking } from "./ask-person.ts";
import { findConfig } from "./find-config.ts";
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
  const files = await findConfig(call, context, server);
  const opened: AsyncDisposable[] = [];
  const close = async (): Promise<void> => {
    for (const one of opened.toReversed()) await one[Symbol.asyncDispose]();
  };
  try {
    const { options, during } = await openParts({ call, context, files, opened });
    const opening = openReadClient(files, { ...options, ...(server !== undefined && { only: [server] }) });
    const client = await withProgress(context.stderr, "Starting the servers", opening);
    opened.push(client);
    await tellFailures(client, context, server);
    return { client, request, during, [Symbol.asyncDispose]: close };
  } catch (cause) {
    await close();
    throw cause;
  }
}

interface Opening {
  readonly call: CommandCall;
  readonly context: CommandContext;
  readonly files: readonly ReadConfig[];
  /** What was opened, in its order. */
  readonly opened: AsyncDisposable[];
}

/** What the servers are started with. */
async function openParts({
  call,
  context,
  files,
  opened,
}: Opening): Promise<Pick<CliClient, "during"> & { readonly options: PlacedClientOptions }> {
  const wire = textOption(call, "wire");
  const log = wire === undefined ? undefined : await openWireLog(wire);
  if (log) opened.push({ [Symbol.asyncDispose]: () => log.close() });
  // Few commands need the code of sandboxes.
  const places = isSet(call, "sandbox") ? await (await import("./sandbox-places.ts")).openSandboxPlaces(files, call, context) : undefined;
  if (places) opened.push(places);
  const { during, ...asking } = openAsking(context);
  const { env, signal } = context;
  const options = {
    env,
    workspaceFolder: process.cwd(),
    userHome: homedir(),
    version: readPackage().version,
    signal,
    ...asking,
    ...(places && { openPlace: places.openPlace }),
    ...(log && { onMessage: log.add }),
    logins: loginsOf(call, context),
  };
  return { options, during };
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
