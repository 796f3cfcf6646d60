import { BelljarError } from "../errors.ts";
import type { CommandCall, CommandContext } from "./command.ts";
import { isSet } from "./command.ts";
import { parseCommandLine } from "./parse-command-line.ts";
import { reportFailure } from "./report-failure.ts";
import { openSignals } from "./signals.ts";

/** Runs the command of the command line, and exits with its exit code. */
async function main(): Promise<void> {
  const argv = process.argv.slice(2);
  const code = await run(argv);
  await Promise.all([flush(process.stdout), flush(process.stderr)]);
  process.exit(code);
}

async function run(argv: readonly string[]): Promise<number> {
  let call: CommandCall | undefined;
  try {
    const request = parseCommandLine(argv);
    if (request.kind === "help") {
      process.stdout.write(request.text);
      return 0;
    }
    call = request.call;
    return await runCommand(call);
  } catch (error) {
    return reportFailure(error, {
      stderr: process.stderr,
      debug: call ? isSet(call, "debug") : argv.includes("--debug"),
      failureCode: call?.spec.failureCode ?? 1,
    });
  }
}

async function runCommand(call: CommandCall): Promise<number> {
  using signals = openSignals({ catchInterrupts: call.spec.ownSignals !== true });
  const { env, stdin, stdout, stderr } = process;
  const context: CommandContext = { env, stdin, stdout, stderr, signal: signals.signal };
  const command = await call.spec.load();
  try {
    return await command.run(call, context);
  } catch (error) {
    const code = signals.exitCode();
    if (code !== undefined && isConsequence(error)) return code;
    throw error;
  }
}

/** Returns true for errors that follow from an ending signal or a closed stdout. */
function isConsequence(error: unknown): boolean {
  if (error instanceof BelljarError) return error.code === "CANCELLED";
  return error instanceof Error && (error.name === "AbortError" || ("code" in error && error.code === "EPIPE"));
}

/** Resolves when all written bytes have left the stream, or when it is closed. */
function flush(stream: NodeJS.WriteStream): Promise<void> {
  return new Promise((resolve) => {
    if (stream.destroyed || !stream.writable) resolve();
    else stream.write("", () => resolve());
  });
}

await main();
