import { BelljarError } from "../../errors.ts";
import { openPortForward } from "../../network/ports/port-forward.ts";
import type { Sandbox } from "../../sandbox/sandbox.ts";
import type { CommandCall, CommandContext } from "../command.ts";
import { openStack } from "../compose/open-stack.ts";
import { openListeners } from "../compose/open-listeners.ts";
import { parseForward } from "../port-argument.ts";
import { printLine } from "../print.ts";
import { startedSandbox } from "../started-sandbox.ts";

export async function run(call: CommandCall, context: CommandContext): Promise<number> {
  const [id = "", ports = ""] = call.positionals;
  const { port, local } = parseForward(ports, "belljar sandbox forward --help");
  await using stack = await openStack(call, context);
  const sandbox = await startedSandbox(stack, id, context);
  await using forward = await openPortForward({
    dial: (signal) => sandbox.guest.dial(port, signal),
    local,
    listeners: openListeners(stack.config),
    onRefused: (error) => printLine(context.stderr, `belljar: ${describe(error)}`),
  });
  printLine(context.stdout, `127.0.0.1:${forward.port} is port ${port} of sandbox ${sandbox.id}. Stop with Ctrl+C.`);
  await sandboxEnd(sandbox, context.signal);
  return 0;
}

/** Resolves when the signal aborts. Rejects when the sandbox ends, because a stream to its guest breaks then. */
async function sandboxEnd(sandbox: Sandbox, signal: AbortSignal): Promise<void> {
  try {
    // Only the end of the watch matters. The root folder hardly ever changes, so watching it costs nothing.
    for await (const _change of await sandbox.guest.files.watch("/", { signal })) if (signal.aborted) return;
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}

function describe(error: unknown): string {
  if (error instanceof BelljarError) return `${error.message} (${error.code})`;
  throw error;
}
