import { expect, it } from "vitest";
import type { SandboxEvent } from "../wire/event-schema.ts";
import { EventQueue } from "./event-queue.ts";

const NEVER = new AbortController().signal;
const changed = (sandbox: string): SandboxEvent => ({ type: "changed", sandbox });

async function take(queue: EventQueue, count: number): Promise<readonly unknown[]> {
  const events = queue.read(NEVER);
  const taken: unknown[] = [];
  for (let index = 0; index < count; index += 1) taken.push((await events.next()).value);
  return taken;
}

it("begins with a resync, and keeps the order", async () => {
  const queue = new EventQueue();
  queue.push(changed("a"));
  queue.push(changed("b"));
  expect(await take(queue, 3)).toEqual([{ type: "resync" }, changed("a"), changed("b")]);
});

it("keeps a bounded number of unread events: of more, one resync is left, and what follows it unread", async () => {
  const queue = new EventQueue();
  for (let index = 0; index < 100_000; index += 1) queue.push(changed(String(index)));
  const [first] = await take(queue, 1);
  queue.push(changed("after"));
  expect([first, ...(await take(queue, 1))]).toEqual([{ type: "resync" }, changed("after")]);
});

it("drops nothing of a reader that is no more than 255 events behind", async () => {
  const queue = new EventQueue();
  for (let index = 0; index < 255; index += 1) queue.push(changed(String(index)));
  expect(await take(queue, 256)).toEqual([{ type: "resync" }, ...Array.from({ length: 255 }, (_, index) => changed(String(index)))]);
});

it("ends a waiting reader when its signal aborts, and with the error that ends the queue", async () => {
  const stop = new AbortController();
  const aborted = new EventQueue().read(stop.signal);
  await aborted.next();
  const waiting = aborted.next();
  stop.abort();
  expect(await waiting).toEqual({ done: true, value: undefined });
  const queue = new EventQueue();
  const failed = queue.read(NEVER);
  await failed.next();
  const next = failed.next();
  queue.end(new Error("no more"));
  await expect(next).rejects.toThrow("no more");
});

it("drops what is unread when a list will show it: a resync stands alone, and later events follow it", async () => {
  const queue = new EventQueue();
  await take(queue, 1);
  queue.push(changed("before"));
  queue.push({ type: "resync" });
  queue.push(changed("dropped, for the list is not asked yet"));
  const [first] = await take(queue, 1);
  queue.push(changed("after"));
  expect([first, ...(await take(queue, 1))]).toEqual([{ type: "resync" }, changed("after")]);
});
