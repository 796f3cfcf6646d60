import { homedir } from "node:os";
import { loadTarget } from "../../mcp/client/load-target.ts";
import { recordServer } from "../../mcp/client/recording/serve-lines.ts";
import type { CommandCall, CommandContext } from "../command.ts";
import { findConfig, serverOf } from "../mcp-client/find-config.ts";
import { openWireLog } from "../mcp-client/wire-log.ts";
import { usage } from "../usage.ts";

export async function run(call: CommandCall, context: CommandContext): Promise<number> {
  const [name = "", path = ""] = call.positionals;
  const { file, config } = serverOf(await findConfig(call, context, name), name);
  const scope = { env: context.env, workspaceFolder: process.cwd(), userHome: homedir(), inputs: new Map<string, string>() };
  const target = await loadTarget(config, file, scope);
  if (target.kind !== "stdio")
    throw usage(`The server "${name}" is no program: --wire FILE of the other client commands records what they say to it`, HELP);
  const log = await openWireLog(path);
  try {
    await recordServer(target, context, (direction, message) => log.add({ server: name, direction, message }));
  } finally {
    await log.close();
  }
  return 0;
}

const HELP = "belljar client record --help";
