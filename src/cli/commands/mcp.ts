import { once } from "node:events";
import { serveMcpStdio } from "../../mcp/server/stdio.ts";
import { LOCAL } from "../../sandbox/sandbox.ts";
import type { DefaultWishes, Project } from "../../sandbox/sandbox.ts";
import type { Config } from "../../config/config.ts";
import type { Workspace } from "../../runtime/contract/sandbox-spec.ts";
import { createToolServerOwners } from "../../gateway/facade/tool-server-owners.ts";
import type { ServerAddress } from "../../remote/server-connection.ts";
import type { CommandCall, CommandContext } from "../command.ts";
import { isSet, textOption } from "../command.ts";
import { openLocalStack, readConfig, workspaceOption } from "../compose/open-stack.ts";
import { openFacadeSettings } from "../compose/open-facade-settings.ts";
import { createLog } from "../log.ts";
import { serverAddress } from "../compose/server-address.ts";
import { readPackage } from "../compose/package-root.ts";
import { refuseForServer } from "../compose/refuse-for-server.ts";
import { namedWishes } from "../compose/named-wishes.ts";
import { createPortOrigin } from "../compose/port-origin.ts";
import { hasServers, hubOf } from "../compose/hub-of.ts";
import { defaultNameOf, openTools } from "../compose/open-tools.ts";
import { printLine } from "../print.ts";
import { takeUpDefault } from "../take-up-default.ts";

export async function run(call: CommandCall, context: CommandContext): Promise<number> {
  const config = readConfig(call, context);
  const server = serverAddress(config, context);
  if (server) refuseForServer(call, ["toolsets", "read-only", "mcp-config"]);
  const project = readProject(call, server ? undefined : await workspaceOption(config));
  const opening = { call, context, config, project, wishes: await namedWishes(call) };
  if (context.stdin.isTTY) printLine(context.stderr, FOR_HOSTS);
  return server ? bridge(server, opening) : serve(opening);
}

type NamedProject = Required<Project>;

/** For a person who tries the command: it would wait without a word. */
const FOR_HOSTS =
  "belljar: MCP messages are read from stdin, which is this terminal. A host starts this command by itself: `belljar connect HOST` tells it to. Stop with Ctrl+C";

/** The project is the workspace, else the folder in which the host starts Belljar. */
function readProject(call: CommandCall, workspace: Workspace | undefined): NamedProject {
  const folder = workspace?.path ?? process.cwd();
  return {
    folder,
    sees: isSet(call, "all-sandboxes") ? "all" : "own",
    defaultName: textOption(call, "sandbox") ?? defaultNameOf(folder),
  };
}

/** Forwards MCP messages to a server, which has the sandboxes, the tools and the policies. */
async function bridge({ url, token }: ServerAddress, { context, config, project, wishes }: Opening): Promise<number> {
  if (wishes || config.workspace !== undefined || config.toolsets || config.readOnly)
    printLine(
      context.stderr,
      `belljar: the server at ${url} decides about networks, limits, workspaces and tools; those named here have no effect`,
    );
  const { bridgeStdio } = await import("../../mcp/bridge/stdio-bridge.ts");
  const log = createLog(context.stderr, config);
  const address = new URL(`${url.replace(/(?<!\/)\/+$/, "")}/mcp`);
  const { folder, sees, defaultName } = project;
  for (const [name, value] of Object.entries({ sandbox: defaultName, project: folder, sees })) address.searchParams.set(name, value);
  const onError = (error: Error): void => log.error({ err: error }, "A message could not be carried");
  const bridged = bridgeStdio({ url: address, onError, ...(token !== undefined && { token }) });
  if (!context.signal.aborted) await Promise.race([bridged.closed, once(context.signal, "abort")]);
  await bridged.close();
  return 0;
}

interface Opening {
  readonly call: CommandCall;
  readonly context: CommandContext;
  readonly config: Config;
  readonly project: NamedProject;
  readonly wishes: DefaultWishes | undefined;
}

async function serve({ call, context, config, project, wishes }: Opening): Promise<number> {
  const { defaultName } = project;
  await using stack = await openLocalStack(config, context, { pool: "host" });
  const log = createLog(context.stderr, stack.config);
  await using ports = createPortOrigin(stack, log);
  const settings = openFacadeSettings(stack.config);
  const toolServers = createToolServerOwners(settings);
  const opened = hasServers(call, stack.config) ? hubOf(call, context, stack, { settings }) : undefined;
  await using tools = await openTools(stack, {
    defaultName,
    ...(wishes && { wishes }),
    portOrigin: () => ports.origin(),
    log,
    usualSnippets: true,
    toolServers,
    ...(opened && { hub: async () => (await opened()).hub }),
  });
  const caller = { principal: { ...LOCAL, project }, defaultName };
  const server = serveMcpStdio({
    tools: tools.catalog,
    resources: tools.resources,
    prompts: tools.prompts,
    introduce: tools.introduce,
    connected: tools.connected,
    version: readPackage().version,
    caller,
    onError: (error, requestId) =>
      log.error({ err: error, requestId }, requestId === undefined ? "A message could not be served" : "A call failed inside Belljar"),
  });
  stack.startUpkeep();
  const takingUp = takeUpDefault(tools, caller, context);
  toolServers.load(LOCAL).catch((err: unknown) => log.error({ err }, "The tool server of this user cannot be looked up"));
  if (!context.signal.aborted) await Promise.race([server.closed, once(context.signal, "abort")]);
  await server.close();
  await takingUp;
  return 0;
}
