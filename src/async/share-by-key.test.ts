import { expect, it } from "vitest";
import { ShareByKey } from "./share-by-key.ts";

it("runs one piece of work for a key at a time, and shares its result and its failure", async () => {
  const shared = new ShareByKey<number>();
  let runs = 0;
  const work = async (): Promise<number> => {
    const run = (runs += 1);
    await Promise.resolve();
    if (run === 2) throw new Error("no");
    return run;
  };
  expect(await Promise.all([shared.run("a", work), shared.run("a", work)])).toEqual([1, 1]);
  const failed = await Promise.allSettled([shared.run("a", work), shared.run("a", work)]);
  expect(failed.map(({ status }) => status)).toEqual(["rejected", "rejected"]);
  expect(await Promise.all([shared.run("a", work), shared.run("b", work)])).toEqual([3, 4]);
});

it("is idle once the running work has succeeded or failed", async () => {
  const shared = new ShareByKey<void>();
  const log: string[] = [];
  let end = (): void => undefined;
  const told = new Promise<void>((resolve) => (end = resolve));
  const runs = [
    shared.run("a", () => told.then(() => void log.push("a"))),
    shared.run("b", () => told.then(() => Promise.reject(new Error("no")))),
  ];
  const idle = shared.idle().then(() => log.push("idle"));
  end();
  await Promise.allSettled([...runs, idle]);
  expect(log).toEqual(["a", "idle"]);
});
