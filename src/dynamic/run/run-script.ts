import { BelljarError } from "../../errors.ts";
import { openOutputWindows } from "../../interpreter/output-window.ts";
import type { Sandbox } from "../../sandbox/sandbox.ts";
import { type HarnessOptions, type Harnessed, tooLate } from "../harness/ask-harness.ts";
import { type ShellCall, shellResult } from "../shell-tool.ts";
import type { ReadTool } from "../unit.ts";

/** Of what a script answers. */
const ANSWER_MAX_BYTES = 8 * 1_048_576;

/** A call of a shell tool. Its standard output is the answer, and its standard error what it printed. Rejects as `askHarness`. */
export async function runScript(
  { guest }: Sandbox,
  tool: ReadTool,
  { argv, env, stdin }: ShellCall,
  { signal, timeoutMs, maxOutputBytes }: HarnessOptions,
): Promise<Harnessed> {
  const printed = openOutputWindows(maxOutputBytes);
  const exit = await guest.run({
    argv,
    env,
    input: stdin,
    signal,
    timeoutMs,
    maxOutputBytes: ANSWER_MAX_BYTES,
    onOutput: (stream, chunk) => stream === "stderr" && printed.stderr.push(chunk),
  });
  if (exit.timedOut) throw tooLate(timeoutMs);
  if (exit.truncated) throw new BelljarError("RESULT_TOO_LARGE", "The script answered more than 8 MiB: have it answer less");
  if (exit.exitCode === undefined) throw new BelljarError("TOOL_FAILED", `The script was ended by ${exit.signal ?? "a signal"}`);
  const texts = { stdout: exit.stdout.toString("utf8"), stderr: exit.stderr.toString("utf8") };
  return { answer: shellResult(tool, { exitCode: exit.exitCode, ...texts }), printed };
}
