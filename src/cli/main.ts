import type { CommandCall, CommandContext } from "./command.ts";
import { isSet } from "./command.ts";
import { watchOutput } from "./output-watch.ts";
import { parseCommandLine } from "./parse-command-line.ts";
import { isConsequence, reportFailure } from "./report-failure.ts";
import type { Signals } from "./signals.ts";
import { openSignals } from "./signals.ts";
import { columnsOf } from "./terminal/columns-of.ts";
import { wrapText } from "./terminal/wrap-text.ts";

const output = watchOutput(process.stdout);

/** Runs the command of the command line, and exits with its exit code. */
async function main(): Promise<void> {
  const argv = process.argv.slice(2);
  const code = await run(argv);
  await Promise.all([flush(process.stdout), flush(process.stderr)]);
  const lost = output.failure();
  process.exit(code === 0 && lost ? report(lost, { debug: argv.includes("--debug"), spec: undefined }) : code);
}

async function run(argv: readonly string[]): Promise<number> {
  let call: CommandCall | undefined;
  try {
    const request = parseCommandLine(argv);
    if (request.kind === "help") {
      process.stdout.write(wrapText(request.text, columnsOf(process.stdout)));
      return 0;
    }
    call = request.call;
    return await runCommand(call);
  } catch (error) {
    return report(error, { debug: call ? isSet(call, "debug") : argv.includes("--debug"), spec: call?.spec });
  }
}

async function runCommand(call: CommandCall): Promise<number> {
  using signals = openSignals({ catchInterrupts: call.spec.ownSignals !== true });
  using _unhandled = reportUnhandled(signals, call);
  const { env, stdin, stdout, stderr } = process;
  const context: CommandContext = { env, stdin, stdout, stderr, signal: signals.signal, holdInterrupts: signals.holdInterrupts };
  const command = await call.spec.load();
  try {
    return await command.run(call, context);
  } catch (error) {
    return brokenOff(error, signals) ?? report(error, { debug: isSet(call, "debug"), spec: call.spec });
  }
}

/** The exit code of the signal that an error follows from. */
function brokenOff(error: unknown, signals: Signals): number | undefined {
  return isConsequence(error) ? signals.exitCode() : undefined;
}

/** An error that nobody awaits ends the process as any other, without the lines that Node prints about it. */
function reportUnhandled(signals: Signals, call: CommandCall): Disposable {
  const end = (error: unknown): void =>
    process.exit(brokenOff(error, signals) ?? report(error, { debug: isSet(call, "debug"), spec: call.spec }));
  process.on("uncaughtException", end);
  return { [Symbol.dispose]: () => void process.off("uncaughtException", end) };
}

function report(error: unknown, { debug, spec }: { readonly debug: boolean; readonly spec: CommandCall["spec"] | undefined }): number {
  const { failureCode = 1, exitCodes = {} } = spec ?? {};
  return reportFailure(output.explain(error), { stderr: process.stderr, debug, failureCode, exitCodes });
}

/** Resolves when all written bytes have left the stream, or when it is closed. */
function flush(stream: NodeJS.WriteStream): Promise<void> {
  return new Promise((resolve) => {
    if (stream.destroyed || !stream.writable) resolve();
    else stream.write("", () => resolve());
  });
}

await main();
