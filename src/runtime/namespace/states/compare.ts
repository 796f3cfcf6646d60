import { spawn } from "node:child_process";
import { once } from "node:events";
import { BelljarError } from "../../../errors.ts";
import { FrameDecoder } from "../../../protocol/frames.ts";
import { FRAME, GUEST_ERROR } from "../../../protocol/wire.ts";
import type { StateChange, StateReading } from "../../contract/state-store.ts";
import { unavailable } from "../spawner.ts";
import { parseStateChange, parseStateEntry } from "./state-changes.ts";

/** All that a sandbox wrote may have to be read. */
const COMPARE_MS = 120_000;
/** Of `native/jail/layers.h`. */
const EXIT_LOST = 6;
const SAID_MAX = 1_000;

interface Frame {
  readonly type: number;
  readonly payload: Buffer;
}

/**
 * What differs between the two states of a request. Not reading on holds the work up; leaving the loop ends it. Rejects with
 * `RUNTIME_FAILED`, and with `CANCELLED`.
 */
export async function* compareStates(binary: string, request: Buffer, signal: AbortSignal): AsyncGenerator<StateChange> {
  for await (const { type, payload } of ask(binary, request, signal)) {
    if (type === FRAME.END) return;
    if (type !== FRAME.ENTRY) throw failed(`an answer of type ${type} came`);
    yield parseStateChange(payload);
  }
  throw failed("the answer was cut off");
}

/** The content of the file that a request names, as the caller takes it. */
export async function* readState(
  binary: string,
  request: Buffer,
  { path, maxBytes, signal }: StateReading & { readonly path: Buffer },
): AsyncGenerator<Buffer> {
  let bytes = 0;
  for await (const { type, payload } of ask(binary, request, signal)) {
    if (type === FRAME.END) return;
    if (type === FRAME.ERROR && payload.readUInt16BE() === GUEST_ERROR.NOT_FOUND) throw missing(path);
    if (type === FRAME.REPLY) assertFits(path, parseStateEntry(payload).size, maxBytes);
    else if (type === FRAME.DATA) {
      bytes += payload.length;
      assertFits(path, bytes, maxBytes);
      yield payload;
    } else throw failed(`an answer of type ${type} came`);
  }
  throw failed("the answer was cut off");
}

function assertFits(path: Buffer, bytes: number, maxBytes: number): void {
  if (bytes <= maxBytes) return;
  throw new BelljarError("FILE_TOO_LARGE", `${path.toString()} has more than ${maxBytes} bytes: look at it in a fork of this state`);
}

function missing(path: Buffer): BelljarError {
  return new BelljarError("FILE_NOT_FOUND", `The state has no file ${path.toString()}: a diff shows which files it has`);
}

/** The frames that the process says, as the caller takes them. */
async function* ask(binary: string, request: Buffer, signal: AbortSignal): AsyncGenerator<Frame> {
  if (signal.aborted) throw cancelled(signal); // a process may be done before it is killed
  const deadline = AbortSignal.timeout(COMPARE_MS);
  const child = spawn(binary, ["compare"], {
    stdio: ["pipe", "pipe", "pipe"],
    env: {},
    cwd: "/",
    signal: AbortSignal.any([signal, deadline]),
    killSignal: "SIGKILL",
  });
  const closed = once(child, "close");
  closed.catch(() => undefined); // whoever waits for it gets its error
  let said = "";
  child.stderr.on("data", (chunk: Buffer) => void (said = (said + chunk.toString()).slice(0, SAID_MAX)));
  child.stdin.on("error", () => undefined).end(request); // a process that refuses a request does not read it to its end
  try {
    const frames: Frame[] = [];
    const decoder = new FrameDecoder((type, _channel, payload) => void frames.push({ type, payload }));
    for await (const chunk of child.stdout as AsyncIterable<Buffer>) {
      decoder.push(chunk);
      yield* frames.splice(0);
    }
    const [code] = (await closed) as [number | null];
    if (code === EXIT_LOST)
      throw new BelljarError(
        "SANDBOX_FILES_LOST",
        "What the sandbox wrote is gone, so its states cannot be compared: go on from an earlier snapshot",
      );
    if (code !== 0) throw failed(said.trim() || "the process that compares has ended");
  } catch (cause) {
    if (signal.aborted) throw cancelled(signal);
    if (deadline.aborted) throw failed(`it took longer than ${COMPARE_MS / 1_000} s, for a sandbox that wrote very much`, cause);
    if ((cause as NodeJS.ErrnoException).syscall?.startsWith("spawn")) throw unavailable(cause);
    throw cause;
  } finally {
    child.kill("SIGKILL");
  }
}

function cancelled({ reason }: AbortSignal): BelljarError {
  return new BelljarError("CANCELLED", "The states were not compared: the caller cancelled", { cause: reason });
}

function failed(what: string, cause?: unknown): BelljarError {
  return new BelljarError("RUNTIME_FAILED", `The states of the sandbox could not be compared: ${what}. Try again`, { cause });
}
