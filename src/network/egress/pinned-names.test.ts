import { expect, it } from "vitest";
import { PinnedNames } from "./pinned-names.ts";

const OPTIONS = { timeoutMs: 10_000, pinMs: 60_000 };

it("looks up two names at a time, and the next name after an answer", async () => {
  const asked: string[] = [];
  const answers: (() => void)[] = [];
  const resolve = (host: string): Promise<readonly string[]> => {
    asked.push(host);
    return new Promise((done) => answers.push(() => done(["192.0.2.1"])));
  };
  const names = new PinnedNames({ ...OPTIONS, resolver: { resolve } });
  const [first, , third] = ["a.test", "b.test", "c.test"].map((host) => names.resolve(host));
  expect(asked).toEqual(["a.test", "b.test"]);
  answers[0]?.();
  await first;
  expect(asked).toEqual(["a.test", "b.test", "c.test"]);
  answers[2]?.();
  expect(await third).toEqual(["192.0.2.1"]);
});

it("gives up a name that waits too long behind unanswered names", async () => {
  const resolve = (): Promise<readonly string[]> => new Promise(() => {});
  const names = new PinnedNames({ ...OPTIONS, timeoutMs: 20, resolver: { resolve } });
  const all = await Promise.allSettled(["a.test", "b.test", "c.test"].map((host) => names.resolve(host)));
  expect(all.map(({ status }) => status)).toEqual(["rejected", "rejected", "rejected"]);
});

it("looks up a name once for many callers", async () => {
  let asked = 0;
  const names = new PinnedNames({ ...OPTIONS, resolver: { resolve: async () => [`192.0.2.${++asked}`] } });
  const all = await Promise.all(Array.from({ length: 5 }, () => names.resolve("a.test")));
  expect(new Set(all.flat())).toEqual(new Set(["192.0.2.1"]));
});
