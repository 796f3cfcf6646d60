import { expect, it } from "vitest";
import { CallQueue } from "./call-queue.ts";

const { signal } = new AbortController();
const open = (queue: number): CallQueue => new CallQueue({ server: "one", concurrency: 2, queue, owner: "ann" });

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

it("gives a caller who is not the owner half of the places, and the rest to others", async () => {
  const [queue, log] = [new CallQueue({ server: "one", concurrency: 4, queue: 16, owner: "ann" }), [] as string[]];
  const first = [await queue.enter("bob", signal), await queue.enter("bob", signal)];
  const third = queue.enter("bob", signal).then((place) => (log.push("bob"), place));
  const others = [await queue.enter("cay", signal), await queue.enter("ann", signal)];
  expect(log, "one more of its own waits beside free places").toEqual([]);
  others[0]?.[Symbol.dispose]();
  const cay = await queue.enter("cay", signal);
  expect(log).toEqual([]);
  first[0]?.[Symbol.dispose]();
  (await third)[Symbol.dispose]();
  for (const place of [cay, first[1], others[1]]) place?.[Symbol.dispose]();
  // The owner may have all.
  await Promise.all([1, 2, 3, 4].map(() => queue.enter("ann", signal)));
});

it("gives a place to whoever has the fewest, before those who came earlier", async () => {
  const [queue, log] = [new CallQueue({ server: "one", concurrency: 3, queue: 16, owner: "ann" }), [] as string[]];
  const places = [await queue.enter("ann", signal), await queue.enter("ann", signal), await queue.enter("ann", signal)];
  const enter = (name: string): Promise<unknown> => queue.enter(name, signal).then(() => log.push(name));
  const waiting = [enter("ann"), enter("ann"), enter("bob")];
  places[0]?.[Symbol.dispose]();
  await waiting[2];
  expect(log).toEqual(["bob"]);
  places[1]?.[Symbol.dispose]();
  await waiting[0];
  expect(log).toEqual(["bob", "ann"]);
});
