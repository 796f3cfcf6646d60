import { EventEmitter, on, once } from "node:events";
import { expect, it } from "vitest";
import { BelljarError } from "../../../../errors.ts";
import { createPolledWatchers } from "./polled-watchers.ts";
import type { WatchEvent } from "./watch-events.ts";

const LIMITS = { ofSandbox: 2, ofOwner: 3, all: 4, events: 3, bytesOfSandbox: 4_096, idleMs: 60_000 };

/** Each sandbox has an owner of its own, unless one is named. */
function at(sandbox: string, owner = `owner of ${sandbox}`) {
  return { sandbox, owner };
}

/** A folder whose changes the test makes. */
function openFolder() {
  const changes = new EventEmitter();
  let signal: AbortSignal | undefined;
  return {
    isWatched: () => signal !== undefined && !signal.aborted,
    change(...names: readonly string[]): void {
      for (const name of names) changes.emit("change", { name, type: "EVENT_TYPE_WRITE" });
    },
    tell: (event: WatchEvent) => void changes.emit("change", event),
    fail: (error: Error) => void changes.emit("error", error),
    open: async (given: AbortSignal): Promise<AsyncIterable<WatchEvent>> => {
      signal = given;
      const events = on(changes, "change", { signal: given });
      return (async function* () {
        for await (const [event] of events) yield event as WatchEvent;
      })();
    },
    /** All events before this have been collected. */
    settled: () => once(setImmediateEvent(), "now"),
  };
}

function setImmediateEvent(): EventEmitter {
  const events = new EventEmitter();
  setImmediate(() => events.emit("now"));
  return events;
}

const missing = expect.objectContaining({ code: "FILE_NOT_FOUND" }) as Error;

it("gives each event once, to its own sandbox alone, until it is removed", async () => {
  using watchers = createPolledWatchers(LIMITS);
  const folder = openFolder();
  const id = await watchers.add(at("one"), folder.open);
  folder.change("a", "b");
  await folder.settled();
  expect(watchers.take("one", id).map(({ name }) => name)).toEqual(["a", "b"]);
  expect(watchers.take("one", id)).toEqual([]);
  for (const act of [() => watchers.take("two", id), () => watchers.remove("two", id), () => watchers.take("one", "w0")])
    expect(act).toThrow(missing);
  watchers.remove("one", id);
  expect(folder.isWatched()).toBe(false);
  expect(() => watchers.take("one", id)).toThrow(missing);
});

it("ends one whose events nobody takes, and says so after those that wait", async () => {
  using watchers = createPolledWatchers(LIMITS);
  const folder = openFolder();
  const id = await watchers.add(at("one"), folder.open);
  folder.change("a", "b", "c", "d");
  await folder.settled();
  expect(folder.isWatched()).toBe(false);
  expect(watchers.take("one", id)).toHaveLength(3);
  expect(() => watchers.take("one", id)).toThrow(expect.objectContaining({ code: "PROCESS_LIMIT" }) as Error);
  expect(() => watchers.take("one", id)).toThrow(missing);
});

it("ends one with more bytes than a sandbox may have waiting, counted over its watchers", async () => {
  using watchers = createPolledWatchers({ ...LIMITS, events: 1_000 });
  const folders = [openFolder(), openFolder(), openFolder()];
  const [first, second] = [
    await watchers.add(at("one"), folders[0]?.open ?? fail),
    await watchers.add(at("one"), folders[1]?.open ?? fail),
  ];
  await watchers.add(at("two"), folders[2]?.open ?? fail);
  folders[0]?.change("x".repeat(3_000));
  await folders[0]?.settled();
  folders[1]?.change("y".repeat(500), "z".repeat(1_000));
  folders[2]?.change("other");
  await folders[1]?.settled();
  expect(folders.map((folder) => folder.isWatched())).toEqual([true, false, true]);
  expect(watchers.take("one", first)).toHaveLength(1);
  expect(watchers.take("one", second)).toHaveLength(1);
  expect(() => watchers.take("one", second)).toThrow(expect.objectContaining({ code: "PROCESS_LIMIT" }) as Error);
});

const fail = (): Promise<never> => Promise.reject(new Error("no folder"));

it("tells what ended the events", async () => {
  using watchers = createPolledWatchers(LIMITS);
  const folder = openFolder();
  const id = await watchers.add(at("one"), folder.open);
  folder.fail(new Error("the sandbox has ended"));
  await folder.settled();
  expect(() => watchers.take("one", id)).toThrow("the sandbox has ended");
});

it("forgets those of a sandbox that has ended, whose places are free again", async () => {
  using watchers = createPolledWatchers(LIMITS);
  const folders = [openFolder(), openFolder(), openFolder()] as const;
  const add = (index: 0 | 1 | 2, sandbox: string): Promise<string> => watchers.add(at(sandbox, "ann"), folders[index].open);
  const [first] = [await add(0, "one"), await add(1, "one"), await add(2, "two")];
  await expect(watchers.add(at("three", "ann"), openFolder().open)).rejects.toMatchObject({ code: "PROCESS_LIMIT" });
  folders[0].change("a");
  for (const folder of [folders[0], folders[1]]) folder.fail(new BelljarError("SANDBOX_ENDED", "The sandbox has ended"));
  await folders[1].settled();
  expect(() => watchers.take("one", first)).toThrow(missing);
  for (const sandbox of ["three", "four"]) await watchers.add(at(sandbox, "ann"), openFolder().open);
});

it("has a bounded number for a sandbox and in all, and counts none that was refused", async () => {
  using watchers = createPolledWatchers(LIMITS);
  const add = (sandbox: string, owner?: string): Promise<string> => watchers.add(at(sandbox, owner), openFolder().open);
  const refused = (): Promise<never> => Promise.reject(new Error("no such folder"));
  for (let time = 0; time < 5; time += 1) await expect(watchers.add(at("one"), refused)).rejects.toThrow("no such folder");
  const first = await add("one");
  await add("one");
  await expect(add("one")).rejects.toMatchObject({ code: "PROCESS_LIMIT" });
  await add("two");
  await add("three");
  await expect(add("four"), "in all").rejects.toMatchObject({ code: "PROCESS_LIMIT" });
  watchers.remove("one", first);
  await add("four");
});

it("has a bounded number for the sandboxes of one owner, which leaves the rest to others", async () => {
  using watchers = createPolledWatchers({ ...LIMITS, all: 10 });
  const add = (sandbox: string, owner: string): Promise<string> => watchers.add(at(sandbox, owner), openFolder().open);
  const first = await add("one", "ann");
  await add("two", "ann");
  await add("three", "ann");
  await expect(add("four", "ann")).rejects.toMatchObject({ code: "PROCESS_LIMIT" });
  await add("five", "bob");
  watchers.remove("one", first);
  await add("four", "ann");
});

it("counts all that an event holds, and gives it back when the events are taken or their watcher ends", async () => {
  using watchers = createPolledWatchers({ ...LIMITS, events: 1_000, bytesOfSandbox: 5_000 });
  const [folder, other] = [openFolder(), openFolder()];
  const id = await watchers.add(at("one"), folder.open);
  const removed = await watchers.add(at("one"), other.open);
  const large = (name: string): WatchEvent => ({
    name,
    type: "EVENT_TYPE_WRITE",
    entry: { name, path: name, type: "FILE_TYPE_FILE", metadata: { ["ä".repeat(1_000)]: "" } } as unknown as NonNullable<
      WatchEvent["entry"]
    >,
  });
  folder.tell(large("a"));
  await folder.settled();
  expect(watchers.take("one", id)).toHaveLength(1);
  folder.tell(large("b"));
  other.tell(large("c"));
  await folder.settled();
  watchers.remove("one", removed);
  for (const name of ["d", "e"]) folder.tell(large(name));
  await folder.settled();
  expect(
    watchers.take("one", id).map(({ name }) => name),
    "two of 2 KB, and no third one",
  ).toEqual(["b", "d"]);
});

it("ends those that nobody asks, and all when it is disposed", async () => {
  const watchers = createPolledWatchers({ ...LIMITS, idleMs: 1 });
  const folder = openFolder();
  const ended = new EventEmitter();
  await watchers.add(at("one"), async (signal) => {
    signal.addEventListener("abort", () => ended.emit("ended"));
    return folder.open(signal);
  });
  await once(ended, "ended");
  const others = createPolledWatchers(LIMITS);
  await others.add(at("one"), folder.open);
  expect(folder.isWatched()).toBe(true);
  others[Symbol.dispose]();
  expect(folder.isWatched()).toBe(false);
  watchers[Symbol.dispose]();
});
