import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, it } from "vitest";
import { raceLasting } from "./race-lasting.ts";

const never = new Promise<never>(() => undefined);

it("settles like whichever settles first", async () => {
  const no = new Error("no");
  expect(await raceLasting(never, Promise.resolve(1))).toBe(1);
  await expect(raceLasting(never, Promise.reject(no))).rejects.toBe(no);
  let [end, fail] = [(_value: string): void => undefined, (_error: Error): void => undefined];
  const ending = new Promise<string>((resolve) => (end = resolve));
  const failing = new Promise<string>((_resolve, reject) => (fail = reject));
  const races = [raceLasting(ending, never), raceLasting(ending, never), raceLasting(failing, never), raceLasting(failing, never)];
  end("over");
  fail(no);
  expect(await Promise.allSettled(races)).toMatchObject([
    { value: "over" },
    { value: "over" },
    { status: "rejected", reason: no },
    { status: "rejected", reason: no },
  ]);
  expect(await raceLasting(ending, never), "it was settled before").toBe("over");
  await expect(raceLasting(failing, never)).rejects.toBe(no);
});

it("keeps nothing of a race that is decided, while the lasting promise goes on", async () => {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  const lasting = new Promise<never>(() => undefined);
  const results: WeakRef<object>[] = [];
  for (let races = 0; races < 100; races += 1) results.push(new WeakRef(await raceLasting(lasting, Promise.resolve({ races }))));
  await new Promise(setImmediate);
  collect();
  // The engine may hold the last one.
  expect(results.filter((result) => result.deref() !== undefined).length).toBeLessThan(5);
  void lasting.then(() => undefined);
});
