import { constants } from "node:os";
import { pipeline } from "node:stream/promises";
import type { Readable, Writable } from "node:stream";
import { BelljarError } from "../../errors.ts";
import type { ExecProcess, Sandbox } from "../../sandbox/sandbox.ts";
import { tellUsedUp, watchUsedUp } from "../../sandbox/used-up.ts";
import type { CommandCall, CommandContext } from "../command.ts";
import { isSet, textOption, textOptions } from "../command.ts";
import { openStack } from "../compose/open-stack.ts";
import { startedSandbox } from "../started-sandbox.ts";
import { toExitCode } from "../exit-code.ts";
import { openTerminal, terminalEnvironment } from "../terminal/terminal.ts";
import type { Terminal } from "../terminal/terminal.ts";
import { ENDS_WITHIN_MS } from "../signals.ts";
import { printProblems } from "../print.ts";
import { usage } from "../usage.ts";
import { parseDuration, parsePairs } from "../values.ts";

const FORWARDED = ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT"] as const;

export async function run(call: CommandCall, context: CommandContext): Promise<number> {
  const options = toExecOptions(call, context);
  using terminal = isSet(call, "tty") ? openTerminal(context, "exec -t") : undefined;
  await using stack = await openStack(call, context);
  const sandbox = await startedSandbox(stack, call.positionals[0] ?? "", context);
  // At a terminal the program itself shows each refusal.
  using refusals = terminal ? undefined : await sandbox.watchRefusals();
  const findUsedUp = await watchUsedUp(sandbox);
  const env = { ...(terminal && terminalEnvironment(context.env)), ...options.env };
  await using command = await sandbox.guest.exec({
    ...options,
    env,
    ...(terminal && { terminal: terminal.size() }),
    signal: context.signal,
  });
  using _forwarded = forwardSignals(command, sandbox);
  const output = terminal ? attach(terminal, command, context) : carryAll(command, context);
  const [exit] = await Promise.all([command.exited, output]);
  printProblems(context.stderr, (await refusals?.tell()) ?? []);
  printProblems(context.stderr, tellUsedUp(await findUsedUp(exit)));
  if (exit.timedOut) throw new BelljarError("EXEC_TIMEOUT", `"${options.argv[0]}" ran longer than ${options.timeoutMs} ms and was killed`);
  return toExitCode(exit);
}

function toExecOptions(call: CommandCall, { env }: CommandContext) {
  if (call.rest.length === 0) throw usage("No command given: belljar exec ID ARGV...", "belljar exec --help");
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

/** Connects the person's terminal with the command's. */
function attach(terminal: Terminal, command: ExecProcess, { signal }: CommandContext): Promise<void> {
  terminal.onResize((rows, cols) => command.resize(rows, cols));
  return terminal.attach(command, signal);
}

async function carryAll(command: ExecProcess, { stdin, stdout, stderr }: CommandContext): Promise<void> {
  const output = Promise.all([carry(command.stdout, stdout), carry(command.stderr, stderr)]);
  feed(stdin, command.stdin);
  await output;
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
