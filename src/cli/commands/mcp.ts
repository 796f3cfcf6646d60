import { once } from "node:events";
import { serveMcpStdio } from "../../mcp/server/stdio.ts";
import { LOCAL } from "../../sandbox/sandbox.ts";
import type { CommandCall, CommandContext } from "../command.ts";
import { textOption } from "../command.ts";
import { openStack } from "../compose.ts";
import { createLog } from "../log.ts";
import { readPackage } from "../package-root.ts";
import { defaultNameOf, openTools } from "../serve-tools.ts";

export async function run(call: CommandCall, context: CommandContext): Promise<number> {
  await using stack = await openStack(call, context);
  const log = createLog(context.stderr, stack.config.logLevel);
  const defaultName = textOption(call, "sandbox") ?? defaultNameOf(process.cwd());
  await using tools = await openTools(stack, { defaultName, log });
  const server = serveMcpStdio({
    tools: tools.catalog,
    version: readPackage().version,
    caller: { principal: LOCAL, defaultName },
    onError: (error, requestId) =>
      log.error({ err: error, requestId }, requestId === undefined ? "A message could not be served" : "A call failed inside Belljar"),
  });
  stack.startSweep();
  if (!context.signal.aborted) await Promise.race([server.closed, once(context.signal, "abort")]);
  await server.close();
  return 0;
}
