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
 * Carries bytes both ways until both sides are done, one fails, or nothing moves for too long; then both are destroyed and the flow is over.
 * The end of one direction goes on as an end, so a half-closed connection stays one. Back-pressure is the streams' own.
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
    // What a cleanly closed side said last may still be on its way into the other one.
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
