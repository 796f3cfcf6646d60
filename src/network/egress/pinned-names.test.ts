import { setImmediate } from "node:timers/promises";
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
  const all = ["a.test", "b.test", "c.test", "d.test", "e.test"];
  const found = all.map((host) => names.resolve(host));
  for (const [at, one] of found.entries()) {
    expect(asked).toEqual(all.slice(0, at + 2));
    answers[at]?.();
    expect(await one).toEqual(["192.0.2.1"]);
  }
});

it("gives up a name that waits too long behind unanswered names, and looks it up no more", async () => {
  const asked: string[] = [];
  const answers: (() => void)[] = [];
  const resolve = (host: string): Promise<readonly string[]> => {
    asked.push(host);
    return new Promise((done) => answers.push(() => done([])));
  };
  const names = new PinnedNames({ ...OPTIONS, timeoutMs: 20, resolver: { resolve } });
  const found = ["a.test", "b.test", "c.test"].map((host) => names.resolve(host));
  const settled = await Promise.allSettled(found);
  expect(settled.map(({ status }) => status)).toEqual(["rejected", "rejected", "rejected"]);
  for (const answer of answers) answer();
  await setImmediate();
  expect(asked).toEqual(["a.test", "b.test"]);
});

it("looks up a name once for many callers", async () => {
  let asked = 0;
  const names = new PinnedNames({ ...OPTIONS, resolver: { resolve: async () => [`192.0.2.${++asked}`] } });
  const all = await Promise.all(Array.from({ length: 5 }, () => names.resolve("a.test")));
  expect(new Set(all.flat())).toEqual(new Set(["192.0.2.1"]));
});

/** Answers each lookup with one more address. */
function openCounted(now = () => 0) {
  const asked: string[] = [];
  const resolve = async (host: string): Promise<readonly string[]> => [`192.0.2.${asked.push(host)}`];
  return { asked, names: new PinnedNames({ ...OPTIONS, now, resolver: { resolve } }) };
}

it("keeps the addresses of a name as long as it is pinned, and then looks it up again", async () => {
  let at = 0;
  const { names } = openCounted(() => at);
  expect(await names.resolve("a.test")).toEqual(["192.0.2.1"]);
  at = OPTIONS.pinMs - 1;
  expect(await names.resolve("a.test")).toEqual(["192.0.2.1"]);
  at = OPTIONS.pinMs;
  expect(await names.resolve("a.test")).toEqual(["192.0.2.2"]);
});

it("puts the address that answered before the others, and nothing for a name that it does not know", async () => {
  const { names } = openCounted();
  await names.resolve("a.test");
  names.prefer("a.test", "10.0.0.2", ["10.0.0.1", "10.0.0.2", "10.0.0.3"]);
  expect(await names.resolve("a.test")).toEqual(["10.0.0.2", "10.0.0.1", "10.0.0.3"]);
  names.prefer("b.test", "10.0.0.2", ["10.0.0.1", "10.0.0.2"]);
  expect(await names.resolve("b.test")).toEqual(["192.0.2.2"]);
});

it("looks up a name again that was forgotten", async () => {
  const { names } = openCounted();
  await names.resolve("a.test");
  names.forget("a.test");
  expect(await names.resolve("a.test")).toEqual(["192.0.2.2"]);
});

it("looks up a name again that was not found", async () => {
  let asked = 0;
  const resolve = async (): Promise<readonly string[]> => {
    if (++asked === 1) throw new Error("ENOTFOUND");
    return ["192.0.2.1"];
  };
  const names = new PinnedNames({ ...OPTIONS, resolver: { resolve } });
  await expect(names.resolve("a.test")).rejects.toThrow("ENOTFOUND");
  expect(await names.resolve("a.test")).toEqual(["192.0.2.1"]);
});

it("remembers the 1,024 names that were looked up last", async () => {
  const { names, asked } = openCounted();
  const hosts = Array.from({ length: 1_025 }, (_, index) => `h${index}.test`);
  for (const host of hosts) await names.resolve(host);
  await names.resolve("h1.test");
  expect(asked).toHaveLength(1_025);
  await names.resolve("h0.test");
  expect(asked).toHaveLength(1_026);
});

it("counts a name that was looked up again as the last", async () => {
  let at = 0;
  const { names, asked } = openCounted(() => at);
  await names.resolve("first.test");
  at = OPTIONS.pinMs;
  for (let index = 1; index < 1_024; index++) await names.resolve(`h${index}.test`);
  await names.resolve("first.test");
  await names.resolve("one-more.test");
  const before = asked.length;
  await names.resolve("first.test");
  expect(asked).toHaveLength(before);
});
