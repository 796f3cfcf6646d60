import { BelljarError } from "../../errors.ts";
import { LOCAL } from "../../sandbox/sandbox.ts";
import type { Sandbox } from "../../sandbox/sandbox.ts";
import type { CommandCall, CommandContext } from "../command.ts";
import { textOption } from "../command.ts";
import { openStack, workspaceOption } from "../compose/open-stack.ts";
import type { Stack } from "../compose/open-stack.ts";
import { networkOption } from "../compose/configured-policy.ts";
import { toExitCode } from "../exit-code.ts";
import { keepExtended } from "../keep-extended.ts";
import { withProgress } from "../progress.ts";
import { startedSandbox } from "../started-sandbox.ts";
import { openTerminal, terminalEnvironment } from "../terminal/terminal.ts";
import type { Terminal } from "../terminal/terminal.ts";

const SHELLS: readonly (readonly string[])[] = [
  ["bash", "-l"],
  ["sh", "-l"],
];

export async function run(call: CommandCall, context: CommandContext): Promise<number> {
  using terminal = openTerminal(context, "shell");
  await using stack = await openStack(call, context);
  await using place = await openShellSandbox(call, context, stack);
  await using _kept = keepExtended(place.sandbox, stack.config.sandbox.timeoutMs);
  await using shell = await startShell(place.sandbox, { call, context, terminal });
  terminal.onResize((rows, cols) => shell.resize(rows, cols));
  await terminal.attach(shell, context.signal);
  return toExitCode(await shell.exited);
}

interface ShellSandbox extends AsyncDisposable {
  readonly sandbox: Sandbox;
}

/** Opens the named sandbox, which lives on, or a fresh sandbox, which ends with the shell. */
async function openShellSandbox(call: CommandCall, context: CommandContext, stack: Stack): Promise<ShellSandbox> {
  const [id] = call.positionals;
  if (id !== undefined) {
    const fresh = ["workspace", "network"].find((name) => textOption(call, name) !== undefined);
    if (fresh !== undefined) {
      const advice = `leave out the ID, or make one with \`belljar sandbox create --${fresh}\``;
      throw new BelljarError("USAGE", `--${fresh} is for a fresh sandbox: ${advice}`);
    }
    return { sandbox: await startedSandbox(stack, id, context), [Symbol.asyncDispose]: async () => {} };
  }
  const workspace = await workspaceOption(stack.config);
  const options = { ephemeral: true, ...(workspace && { workspace }), ...(await networkOption(call)) };
  const made = stack.sandboxes.create(LOCAL, options, context.signal);
  const sandbox = await withProgress(context.stderr, "Making a sandbox", made);
  return { sandbox, [Symbol.asyncDispose]: () => sandbox.kill() };
}

interface ShellOptions {
  readonly call: CommandCall;
  readonly context: CommandContext;
  readonly terminal: Terminal;
}

async function startShell(sandbox: Sandbox, { call, context, terminal }: ShellOptions) {
  const user = textOption(call, "user");
  for (const argv of SHELLS) {
    try {
      return await sandbox.guest.exec({
        argv,
        terminal: terminal.size(),
        env: terminalEnvironment(context.env),
        ...(user !== undefined && { user }),
        signal: context.signal,
      });
    } catch (error) {
      if (!(error instanceof BelljarError) || error.code !== "COMMAND_NOT_FOUND") throw error;
    }
  }
  throw new BelljarError("COMMAND_NOT_FOUND", "This sandbox's template has no shell");
}
