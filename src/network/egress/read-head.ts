import type { Duplex } from "node:stream";

export interface Parsed<T> {
  readonly value: T;
  /** Number of bytes that belong to the value. The other bytes stay in the stream. */
  readonly used: number;
}

export interface ReadHeadOptions {
  readonly maxBytes: number;
  readonly timeoutMs: number;
}

const CHUNKS_MAX = 1024;

/**
 * Reads the first message of a peer, until `parse` returns it. Leaves the stream paused, and puts unused bytes back.
 * Resolves with undefined if the peer ends, fails, sends too much or takes too long.
 */
export function readHead<T>(
  stream: Duplex,
  parse: (bytes: Buffer) => Parsed<T> | undefined,
  options: ReadHeadOptions,
): Promise<T | undefined> {
  return new Promise((resolve) => {
    let bytes: Buffer = Buffer.alloc(0);
    let chunks = 0;
    const finish = (parsed?: Parsed<T>): void => {
      clearTimeout(timer);
      stream.off("data", take).off("end", giveUp).off("close", giveUp);
      stream.pause();
      if (parsed && parsed.used < bytes.length) stream.unshift(bytes.subarray(parsed.used));
      resolve(parsed?.value);
    };
    const giveUp = (): void => finish();
    const take = (chunk: Buffer): void => {
      bytes = bytes.length === 0 ? chunk : Buffer.concat([bytes, chunk]);
      chunks += 1;
      const parsed = parse(bytes);
      if (parsed || bytes.length > options.maxBytes || chunks > CHUNKS_MAX) finish(parsed);
    };
    const timer = setTimeout(giveUp, options.timeoutMs);
    if (stream.destroyed || stream.readableEnded) return finish();
    stream.on("data", take).once("end", giveUp).once("close", giveUp);
    return void stream.resume();
  });
}
