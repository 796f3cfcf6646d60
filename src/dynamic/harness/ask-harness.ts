import { randomBytes } from "node:crypto";
import { settleWithin } from "../../async/settle-within.ts";
import type { CallLogLevel, Progress } from "../../catalog/tool.ts";
import { BelljarError } from "../../errors.ts";
import { MessageLines } from "../../interpreter/message-lines.ts";
import { openOutputWindows, type OutputWindows } from "../../interpreter/output-window.ts";
import type { ExecProcess, Sandbox } from "../../sandbox/sandbox.ts";
import { USED_UP, watchUsedUp } from "../../sandbox/used-up.ts";
import { type CallBounds, type CallTool, HarnessCalls, TOOL_CALLS, tooManyCalls } from "./harness-calls.ts";
import { type HarnessAnswer, harnessMessage, type HarnessMessage } from "./harness-messages.ts";

const VERSION = 1;
const SIGKILL = 9;
/** A harness ends by itself after its last line. */
const ENDS_MS = 1_000;
/** Of all that one harness says. */
const SAID_MAX_BYTES = 64 * 1_048_576;
/** Reports of progress and lines for the log. */
const TOLD_MAX = 10_000;

/** A tool that a script may call: its name, and where the script finds it too, as `memo.add`. */
export type ScriptTool = readonly [name: string, path?: string];

export type HarnessOrder =
  | { readonly do: "requirements" | "read" }
  | { readonly do: "call"; readonly function: string; readonly arguments: Readonly<Record<string, unknown>> }
  | { readonly do: "script"; readonly tools: readonly ScriptTool[]; readonly concurrent: number };

export interface HarnessProgram {
  /** The process, with one channel. It belongs to the caller, and the signal ends it. Rejects as `Guest.exec` does. */
  readonly start: (signal: AbortSignal) => Promise<ExecProcess>;
  /** What each order says beside itself. */
  readonly code: { readonly language: string; readonly code: string; readonly name: string };
}

export interface HarnessOptions {
  readonly signal: AbortSignal;
  readonly timeoutMs: number;
  /** Of stdout and of stderr, which are the code's own. */
  readonly maxOutputBytes: number;
  readonly progress?: (progress: Progress) => void;
  readonly log?: (level: CallLogLevel, message: string) => void;
  /** Calls a tool for the code, as far as it may. */
  readonly callTool?: CallTool;
  /** Of its calls of tools. Default: those of a tool. */
  readonly bounds?: CallBounds;
}

export interface Harnessed {
  readonly answer: HarnessAnswer;
  readonly printed: OutputWindows;
}

/**
 * Has the harness do one thing with the code, and reads its answer. Rejects with `TOOL_FAILED` if it ends without one, with
 * `EXEC_TIMEOUT` if it takes too long, and as `Guest.exec` does. What the code says in the harness's place is an answer too: it is the
 * code's own.
 */
export async function askHarness(
  sandbox: Sandbox,
  program: HarnessProgram,
  order: HarnessOrder,
  options: HarnessOptions,
): Promise<Harnessed> {
  const findUsedUp = await watchUsedUp(sandbox);
  await using process = await program.start(options.signal);
  const printed = openOutputWindows(options.maxOutputBytes);
  for (const name of ["stdout", "stderr"] as const) process[name].on("data", (chunk: Buffer) => printed[name].push(chunk));
  const answer = await readAnswer(process, { version: VERSION, ...program.code, ...order }, options);
  if (answer) return { answer, printed };
  const exit = await process.exited;
  const usedUp = await findUsedUp({ ...exit, timedOut: false });
  const ending = exit.exitCode === undefined ? `was ended by ${exit.signal ?? "a signal"}` : `ended with code ${exit.exitCode}`;
  const why = usedUp === undefined ? "" : `: ${USED_UP[usedUp]}`;
  const last = printed.stderr.text().trim();
  throw new BelljarError("TOOL_FAILED", `The code ${ending} before it had an answer${why}${last && `\n${last.slice(-LAST_CHARACTERS)}`}`);
}

const LAST_CHARACTERS = 2_000;

/** Undefined if the process ends without one. */
async function readAnswer(
  process: ExecProcess,
  order: object,
  { timeoutMs, progress, log, callTool, bounds = TOOL_CALLS }: HarnessOptions,
): Promise<HarnessAnswer | undefined> {
  const token = randomBytes(16).toString("hex");
  const [channel] = process.channels;
  if (!channel) throw new TypeError("A harness has one channel");
  let answer: HarnessAnswer | undefined;
  let isTooLarge = false;
  let fault: { readonly cause: unknown } | undefined;
  let stop = (): void => undefined;
  const onFault = (cause: unknown): void => ((fault ??= { cause }), stop());
  await using calls = new HarnessCalls({ callTool, channel, onFault, bounds });
  let told = 0;
  const take = (message: HarnessMessage): void => {
    if (answer || message.token !== token) return;
    if (message.type === "call") return calls.take(message) ? undefined : onFault(tooManyCalls(bounds));
    if (message.type !== "progress" && message.type !== "log") return void (answer = message);
    // Beyond it a client would hear nothing else, and reading the rest would hold up the others.
    if ((told += 1) > TOLD_MAX) return void (isTooLarge = true);
    return message.type === "progress" ? progress?.(toProgress(message)) : log?.(message.level, message.message);
  };
  let said = 0;
  const lines = new MessageLines({ schema: harnessMessage, mark: token }, { take, skip: () => (isTooLarge = true) });
  const answered = new Promise<void>((resolve) => {
    stop = resolve;
    channel.on("data", (chunk: Buffer) => {
      said += chunk.length;
      isTooLarge ||= said > SAID_MAX_BYTES;
      // Whoever gives the process up ends it.
      if (!isTooLarge) lines.push(chunk);
      if (answer || isTooLarge) resolve();
    });
    // A code that closes what it finds may have ended the channel alone.
    process.exited.then(
      () => resolve(),
      () => resolve(),
    );
  });
  for (const stream of [process.stdin, channel]) stream.on("error", ignore);
  process.stdin.end(JSON.stringify({ ...order, token }));
  if ((await settleWithin(answered, { timeoutMs })) === "late") throw tooLate(timeoutMs);
  if (fault) throw fault.cause;
  if (!answer && isTooLarge)
    throw new BelljarError(
      "RESULT_TOO_LARGE",
      `The tool says more than 8 MiB at once, or reports more than ${TOLD_MAX} times: have it say less`,
    );
  if (answer && (await settleWithin(process.exited.catch(ignore), { timeoutMs: ENDS_MS })) === "late") process.kill(SIGKILL);
  if (!answer) await process.exited;
  return answer;
}

function toProgress({ progress, total, message }: Extract<HarnessMessage, { type: "progress" }>): Progress {
  return { progress, ...(total !== undefined && { total }), ...(message !== undefined && { message }) };
}

export function tooLate(timeoutMs: number): BelljarError {
  return new BelljarError("EXEC_TIMEOUT", `The code did not answer within ${timeoutMs} ms: have it do less, or raise its time limit`);
}

function ignore(): void {}
