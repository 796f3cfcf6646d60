import type { Duplex, Transform } from "node:stream";
import type { Flow } from "./flow.ts";
import { lendReads } from "./origin-socket.ts";

export interface JoinOptions {
  readonly inside: Duplex;
  readonly outside: Duplex;
  readonly idleMs: number;
  readonly toOutside?: Transform;
  readonly toInside?: Transform;
}

/**
 * Carries bytes in both directions until both sides end, one side fails, or no byte moves for `idleMs`. Then it destroys both streams and
 * ends the flow. The end of one direction is passed on, so half-closed connections work. Back-pressure is that of the streams.
 */
export function joinStreams(flow: Flow, { inside, outside, idleMs, toOutside, toInside }: JoinOptions): void {
  const finish = (): void => {
    clearTimeout(timer);
    for (const stream of [inside, outside, toOutside, toInside]) stream?.destroy();
    flow.end();
  };
  const timer = setTimeout(finish, idleMs);
  inside.on("data", (chunk: Buffer) => {
    flow.sent(chunk.length);
    timer.refresh();
  });
  const received = (chunk: Buffer): void => {
    flow.received(chunk.length);
    timer.refresh();
  };
  const isLent = !toInside && lendReads(outside, (bytes, done) => void (received(bytes), inside.write(bytes, done)));
  for (const filter of [toOutside, toInside]) filter?.on("error", finish);
  for (const [stream, other] of [
    [inside, outside],
    [outside, inside],
  ] as const) {
    stream.on("error", finish);
    // The last bytes of a cleanly closed side may still be on their way to the other side.
    stream.once("close", () => (isComplete(stream) && !other.destroyed ? undefined : finish()));
  }
  (toOutside ? inside.pipe(toOutside) : inside).pipe(outside);
  if (!isLent) return void (toInside ? outside.on("data", received).pipe(toInside) : outside.on("data", received)).pipe(inside);
  outside.once("end", () => inside.end());
  return void outside.resume();
}

function isComplete(stream: Duplex): boolean {
  return stream.readableEnded && stream.writableFinished;
}
