import { Transform } from "node:stream";

/** Time that all these streams together may work in one turn of the event loop. */
const SLICE_MS = 10;
/** The first piece of a slice is small, because hostile content may take a thousand times longer. */
const [FIRST_PIECE_BYTES, PIECE_MAX_BYTES] = [16, 2048];

export interface SlicedWork {
  /** Processes a piece, and returns the bytes that may be passed on. */
  readonly push: (piece: Buffer) => Buffer;
  /** Returns the rest at the end. */
  readonly end?: () => Buffer;
}

/** Work for later turns of the event loop. The first entry runs in the next turn. */
const waiting: (() => void)[] = [];

/** Creates a transform that never blocks the event loop for long, for any bytes and any number of such streams. */
export function createSlicedTransform({ push, end }: SlicedWork): Transform {
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      const work = (): void => workOff(this, push, chunk, done);
      if (waiting.length === 0) work();
      else wait(work);
    },
    flush: (done) => done(null, end?.()),
  });
}

function workOff(stream: Transform, push: SlicedWork["push"], chunk: Buffer, done: (error?: Error) => void): void {
  if (stream.destroyed) return;
  try {
    const rest = workSlice(stream, push, chunk);
    if (rest.length === 0) done();
    else wait(() => workOff(stream, push, rest, done));
  } catch (error) {
    done(error as Error);
  }
}

/** Works for one slice, and returns the bytes that are left. */
function workSlice(stream: Transform, push: SlicedWork["push"], chunk: Buffer): Buffer {
  const endsAt = performance.now() + SLICE_MS;
  const worked: Buffer[] = [];
  let at = 0;
  for (let size = FIRST_PIECE_BYTES; at < chunk.length; size = Math.min(size * 2, PIECE_MAX_BYTES)) {
    worked.push(push(chunk.subarray(at, at + size)));
    at += size;
    if (performance.now() >= endsAt) break;
  }
  stream.push(Buffer.concat(worked));
  return chunk.subarray(at);
}

function wait(work: () => void): void {
  if (waiting.push(work) === 1) setImmediate(serveFirst);
}

/** Removes the work only after its slice, so that only one entry runs in each turn. */
function serveFirst(): void {
  waiting[0]?.();
  waiting.shift();
  if (waiting.length > 0) setImmediate(serveFirst);
}
