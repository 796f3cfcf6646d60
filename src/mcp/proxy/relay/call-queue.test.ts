import { expect, it } from "vitest";
import { CallQueue } from "./call-queue.ts";

const { signal } = new AbortController();
const open = (queue: number): CallQueue => new CallQueue({ server: "one", concurrency: 2, queue });

/** Enters, and writes down when it has its place. */
async function enter(queue: CallQueue, name: string, log: string[], given = signal): Promise<Disposable> {
  const place = await queue.enter("ann", given);
  log.push(name);
  return place;
}

it("gives so many places at once, and the next ones in the order in which they were asked for", async () => {
  const [queue, log] = [open(9), [] as string[]];
  const [first, second] = [await enter(queue, "1", log), await enter(queue, "2", log)];
  const [third, fourth] = [enter(queue, "3", log), enter(queue, "4", log)];
  first[Symbol.dispose]();
  const place = await third;
  expect(log).toEqual(["1", "2", "3"]);
  second[Symbol.dispose]();
  place[Symbol.dispose]();
  (await fourth)[Symbol.dispose]();
  expect(log).toEqual(["1", "2", "3", "4"]);
  // All are free again.
  await Promise.all([queue.enter("ann", signal), queue.enter("ann", signal)]);
});

it("refuses one more than may wait, with a code and the server's name", async () => {
  const queue = open(1);
  const places = [await queue.enter("ann", signal), await queue.enter("ann", signal)];
  const waiting = queue.enter("ann", signal);
  await expect(queue.enter("ann", signal)).rejects.toMatchObject({
    code: "SERVER_BUSY",
    retryable: true,
    message: expect.stringMatching(/"one" answers 2 calls, and 1 of yours wait already/),
  });
  places[0]?.[Symbol.dispose]();
  await waiting;
});

it("lets go of who gives up waiting, and passes its turn on", async () => {
  const queue = open(2);
  const place = await queue.enter("ann", signal);
  await queue.enter("ann", signal);
  const controller = new AbortController();
  const reason = new Error("given up");
  const [leaving, waiting] = [queue.enter("bob", controller.signal), queue.enter("ann", signal)];
  controller.abort(reason);
  await expect(leaving).rejects.toBe(reason);
  place[Symbol.dispose]();
  await waiting;
  await expect(queue.enter("ann", AbortSignal.abort(reason))).rejects.toBe(reason);
});

it("lets one caller fill a quarter of the queue, and others the rest", async () => {
  const queue = open(8);
  const places = [await queue.enter("ann", signal), await queue.enter("ann", signal)];
  const waiting = ["ann", "ann", "bob", "bob", "cay", "cay", "dan", "dan"].map((caller) => queue.enter(caller, signal));
  await expect(queue.enter("ann", signal)).rejects.toMatchObject({
    code: "SERVER_BUSY",
    message: expect.stringContaining("2 of yours wait"),
  });
  await expect(queue.enter("eve", signal)).rejects.toMatchObject({ code: "SERVER_BUSY", message: expect.stringContaining("8 wait") });
  for (const place of places) place[Symbol.dispose]();
  for (const one of waiting) (await one)[Symbol.dispose]();
});
