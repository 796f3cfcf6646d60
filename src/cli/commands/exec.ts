import { constants } from "node:os";
import { pipeline } from "node:stream/promises";
import type { Readable, Writable } from "node:stream";
import { BelljarError } from "../../errors.ts";
import { LOCAL } from "../../sandbox/sandbox.ts";
import type { ExecProcess, Sandbox } from "../../sandbox/sandbox.ts";
import type { CommandCall, CommandContext } from "../command.ts";
import { textOption, textOptions } from "../command.ts";
import { openStack } from "../compose/open-stack.ts";
import { toExitCode } from "../exit-code.ts";
import { ENDS_WITHIN_MS } from "../signals.ts";
import { usage } from "../usage.ts";
import { parseDuration, parsePairs } from "../values.ts";

const FORWARDED = ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT"] as const;

export async function run(call: CommandCall, context: CommandContext): Promise<number> {
  const options = toExecOptions(call, context);
  await using stack = await openStack(call, context);
  const sandbox = await stack.sandboxes.get(LOCAL, call.positionals[0] ?? "");
  await using command = await sandbox.guest.exec({ ...options, signal: context.signal });
  using _forwarded = forwardSignals(command, sandbox);
  const output = Promise.all([carry(command.stdout, context.stdout), carry(command.stderr, context.stderr)]);
  feed(context.stdin, command.stdin);
  const [exit] = await Promise.all([command.exited, output]);
  if (exit.timedOut) throw new BelljarError("EXEC_TIMEOUT", `"${options.argv[0]}" ran longer than ${options.timeoutMs} ms and was killed`);
  return toExitCode(exit);
}

function toExecOptions(call: CommandCall, { env }: CommandContext) {
  if (call.rest.length === 0) throw usage("No command given: belljar exec ID -- ARGV...", "belljar exec --help");
  const timeout = textOption(call, "timeout");
  const cwd = textOption(call, "cwd");
  const user = textOption(call, "user");
  return {
    argv: call.rest,
    env: parsePairs("env", textOptions(call, "env"), env),
    ...(cwd !== undefined && { cwd }),
    ...(user !== undefined && { user }),
    ...(timeout !== undefined && { timeoutMs: parseDuration("timeout", timeout) }),
  };
}

/** Carries one output stream. This process's own stream stays open. The context's signal covers the loss of its reader. */
function carry(from: Readable, to: Writable): Promise<void> {
  return pipeline(from, to, { end: false });
}

/** A command may end without reading all of stdin. That is no failure. */
function feed(from: Readable, to: Writable): void {
  to.on("error", () => from.unpipe(to));
  from.pipe(to);
}

/**
 * Forwards signals to the command. After SIGINT this process goes on as long as the guest answers. After SIGTERM and SIGHUP it ends within
 * a second, and the command with it.
 */
function forwardSignals(command: ExecProcess, { guest }: Sandbox): Disposable {
  const forward = (name: NodeJS.Signals): void => {
    const exit = (): void => process.exit(128 + constants.signals[name]);
    command.kill(constants.signals[name]);
    if (name === "SIGINT") guest.ping(AbortSignal.timeout(ENDS_WITHIN_MS)).catch(exit);
    else if (name !== "SIGQUIT") setTimeout(exit, ENDS_WITHIN_MS).unref();
  };
  for (const name of FORWARDED) process.on(name, forward);
  return {
    [Symbol.dispose]() {
      for (const name of FORWARDED) process.off(name, forward);
    },
  };
}
