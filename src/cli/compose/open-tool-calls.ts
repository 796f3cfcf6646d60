import type { CallOptions } from "../../catalog/catalog.ts";
import type { JsonSchema } from "../../catalog/tool-schema.ts";
import type { Config } from "../../config/config.ts";
import { createToolServerOwners } from "../../gateway/facade/tool-server-owners.ts";
import { toAnswer } from "../../mcp/server/tool-answer.ts";
import type { UnitLife } from "../../dynamic/unit-life.ts";
import { LOCAL } from "../../sandbox/sandbox.ts";
import type { CommandCall, CommandContext } from "../command.ts";
import { createLog } from "../log.ts";
import { printLine } from "../print.ts";
import { openFacadeSettings } from "./open-facade-settings.ts";
import { openLocalStack, readConfig } from "./open-stack.ts";
import { defaultNameOf, openTools } from "./open-tools.ts";
import { createPortOrigin } from "./port-origin.ts";
import { serverAddress } from "./server-address.ts";

/** What a tool answered, as the terminal shows it. */
export interface CalledTool {
  readonly value?: unknown;
  readonly content: readonly { readonly type: string }[];
  readonly isError?: boolean | undefined;
}

/** The tools that a person may call, of the home or of the server. Every call goes through the catalog's door. */
export interface ToolCalls {
  readonly units: UnitLife;
  list(signal: AbortSignal): Promise<readonly { readonly name: string; readonly inputSchema: JsonSchema }[]>;
  call(name: string, args: Readonly<Record<string, unknown>>, signal: AbortSignal): Promise<CalledTool>;
}

/** Opens the server of BELLJAR_URL or the home, and closes it when `use` has ended. */
export async function withToolCalls<Result>(
  call: CommandCall,
  context: CommandContext,
  use: (tools: ToolCalls) => Promise<Result>,
): Promise<Result> {
  const config = readConfig(call, context);
  const server = serverAddress(config, context);
  if (!server) return withOwn(config, context, use);
  const [{ createRemoteCalls }, { createRemoteTools }] = await Promise.all([
    import("../../remote/remote-calls.ts"),
    import("../../remote/remote-tools.ts"),
  ]);
  return use({ ...createRemoteCalls(server), units: createRemoteTools(server) });
}

async function withOwn<Result>(config: Config, context: CommandContext, use: (tools: ToolCalls) => Promise<Result>): Promise<Result> {
  await using stack = await openLocalStack(config, context);
  const log = createLog(context.stderr, config);
  await using ports = createPortOrigin(stack, log);
  const toolServers = createToolServerOwners(openFacadeSettings(config));
  await toolServers.load(LOCAL);
  const options = { defaultName: defaultNameOf(process.cwd()), portOrigin: () => ports.origin(), log, toolServers, followsEdits: false };
  await using tools = await openTools(stack, options);
  return await use({
    units: await stack.userTools(),
    list: async () => tools.catalog.listAll(LOCAL),
    async call(name, args, signal) {
      const told = await tools.catalog.call(LOCAL, name, args, { signal, ...tellingOn(context.stderr) });
      return { value: told.value, ...toAnswer(told) };
    },
  });
}

/** What a tool tells on the way, a line each. */
function tellingOn(stderr: CommandContext["stderr"]): Pick<CallOptions, "progress" | "log"> {
  return {
    progress({ progress, total, message = "" }) {
      printLine(stderr, `${progress}${total === undefined ? "" : `/${total}`} ${message}`.trimEnd());
    },
    log: (level, data) => printLine(stderr, `${level}: ${(typeof data === "string" ? data : JSON.stringify(data)).trimEnd()}`),
  };
}
