import type { Readable } from "node:stream";
import { StringDecoder } from "node:string_decoder";
import { BelljarError } from "../../../errors.ts";
import type { CodeResult, LostContext } from "../../../interpreter/lasting/contexts.ts";
import { runCode } from "../../../interpreter/lasting/contexts.ts";
import type { CodeEvent } from "../../../interpreter/lasting/kernel-run.ts";
import type { Sandbox } from "../../../sandbox/sandbox.ts";
import { isGone } from "../e2b-errors.ts";
import type { Frame } from "./frames.ts";
import { Frames } from "./frames.ts";
import { valueFrame } from "./value-frame.ts";

export interface WantedRun {
  readonly code: string;
  readonly language: string | undefined;
  readonly contextId: string | undefined;
  readonly env: Readonly<Record<string, string>>;
  /** Aborting interrupts the code: its client has gone. */
  readonly signal: AbortSignal;
  readonly keepaliveMs?: number | undefined;
}

/** Clients have the time limits, and end by going. The sandbox's own deadline is earlier. */
const LONGEST_MS = 24 * 60 * 60_000;
/** What a run prints goes to its client, and is not held. */
const HELD_BYTES = 1_024;

/**
 * Runs the code and gives what it says, as it comes. Rejects with whatever keeps the run from being told of at all. What comes later is a frame;
 * a sandbox that ends cuts the stream, as E2B's clients expect it.
 */
export async function runFrames(sandbox: Sandbox, { keepaliveMs, ...wanted }: WantedRun): Promise<Readable> {
  const frames = new Frames(keepaliveMs);
  const ended = tellRun(frames, sandbox, wanted);
  await Promise.race([frames.begun, ended]);
  return frames.body;
}

async function tellRun(frames: Frames, sandbox: Sandbox, wanted: Omit<WantedRun, "keepaliveMs">): Promise<void> {
  const told = new RunText(frames);
  try {
    const result = await runCode(sandbox, {
      ...wanted,
      timeoutMs: LONGEST_MS,
      maxOutputBytes: HELD_BYTES,
      forms: "e2b",
      follower: (event) => told.tell(event),
    });
    told.end(result);
  } catch (error) {
    if (frames.hasBegun && error instanceof BelljarError && !isGone(error)) return told.fail(error);
    frames.cut(error instanceof Error ? error : new Error("The run was given up"));
    if (!frames.hasBegun) throw error;
  }
}

/** One run in the words of E2B's clients. */
class RunText {
  readonly #frames: Frames;
  readonly #decoders = { stdout: new StringDecoder("utf8"), stderr: new StringDecoder("utf8") };

  constructor(frames: Frames) {
    this.#frames = frames;
  }

  tell(event: CodeEvent): Promise<void> | undefined {
    switch (event.type) {
      case "begun":
        this.#frames.start();
        return undefined;
      case "output":
        return this.#print(event.stream, this.#decoders[event.stream].write(event.chunk));
      case "value":
        return this.#frames.write(valueFrame(event.value));
      case "error":
        return this.#frames.write(errorFrame(event.error.name, event.error.message, event.error.traceback));
    }
  }

  end(result: CodeResult): void {
    for (const stream of ["stdout", "stderr"] as const) void this.#print(stream, this.#decoders[stream].end());
    if (result.more > 0) void this.#print("stderr", `[${result.more} values were larger than can be sent, and were left out]\n`);
    if (result.lost) void this.#frames.write(errorFrame("ContextRestarting", lossOf(result.lost), ""));
    // A shell tells a failure by its exit code alone.
    else if (result.exitCode) void this.#frames.write(errorFrame("", String(result.exitCode), ""));
    const { executionCount } = result;
    if (executionCount !== undefined) void this.#frames.write({ type: "number_of_executions", execution_count: executionCount });
    this.#finish();
  }

  fail({ code, message }: BelljarError): void {
    void this.#frames.write(errorFrame(code, message, ""));
    this.#finish();
  }

  #finish(): void {
    void this.#frames.write({ type: "end_of_execution" });
    this.#frames.end();
  }

  #print(stream: "stdout" | "stderr", text: string): Promise<void> | undefined {
    if (text === "") return undefined;
    return this.#frames.write({ type: stream, text, timestamp: new Date().toISOString() });
  }
}

function errorFrame(name: string, value: string, traceback: string): Frame {
  return { type: "error", name, value, traceback };
}

function lossOf({ exit, usedUp, startsAgain }: LostContext): string {
  const how = exit === undefined ? "was killed, as it did not stop" : `ended (${exit.signal ?? `exit code ${exit.exitCode}`})`;
  const why = usedUp === undefined ? "" : `: the sandbox has no ${usedUp} left`;
  return `The context ${how}${why}. ${startsAgain ? "Its next run starts without its variables" : "Somebody removed or restarted it"}`;
}
