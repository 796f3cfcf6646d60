import { Transform } from "node:stream";

/** So long all these streams together work before the loop turns. */
const SLICE_MS = 10;
/** The first piece of a slice is small, because hostile contents take a thousand times as long as others. */
const [FIRST_PIECE_BYTES, PIECE_MAX_BYTES] = [16, 2048];

export interface SlicedWork {
  /** What may go on after these bytes. */
  readonly push: (piece: Buffer) => Buffer;
  /** What is left when no more come. */
  readonly end?: () => Buffer;
}

/** Whose work goes on in a later turn of the loop; the first of them in the next one. */
const waiting: (() => void)[] = [];

/** A stream whose work never holds the loop, whatever the bytes are and however many such streams there are. */
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

/** Returns the bytes that are left when the time is over. */
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

/** It leaves the line when its slice is done, so that the line is served once in each turn. */
function serveFirst(): void {
  waiting[0]?.();
  waiting.shift();
  if (waiting.length > 0) setImmediate(serveFirst);
}
