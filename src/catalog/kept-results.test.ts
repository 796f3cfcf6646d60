import { expect, it } from "vitest";
import { LOCAL } from "../sandbox/sandbox.ts";
import { createKeptResults } from "./kept-results.ts";
import type { KeptLimits } from "./kept-results.ts";

const OTHER = { id: "other", name: "other" };

function open(limits: Partial<KeptLimits> = {}) {
  const clock = { ms: 0 };
  const results = createKeptResults(limits, () => new Date(clock.ms));
  const keep = (text: string, who = LOCAL) => results.keep(who, text).replace("belljar://results/", "");
  return { results, keep, clock };
}

it("gives a text back in parts that lose nothing, whatever its characters", () => {
  const { results, keep } = open();
  const text = "añ日🙂\n".repeat(50);
  const id = keep(text);
  let read = "";
  for (let offset = 0, total = 1; offset < total;) {
    const part = results.read(LOCAL, id, { offset, limit: 7 });
    expect(part.text).not.toContain("\uFFFD");
    read += part.text;
    offset = part.offset + part.bytes;
    total = part.total;
  }
  expect(read).toBe(text);
});

it("answers an offset past the end with nothing", () => {
  const { results, keep } = open();
  expect(results.read(LOCAL, keep("abc"), { offset: 99 })).toEqual({ text: "", offset: 3, bytes: 0, total: 3 });
});

it("shows a result to nobody but its owner, and says the same as of none", () => {
  const { results, keep } = open();
  const id = keep("mine");
  const ask = (one: string) => {
    try {
      return results.read(OTHER, one, {});
    } catch (error) {
      return String(error).replace(one, "ID");
    }
  };
  expect(ask(id)).toBe(ask("0".repeat(32)));
  expect(results.list(OTHER)).toEqual([]);
});

it("drops the oldest of an owner that has too much, and nobody else's", () => {
  const { results, keep } = open({ ownerBytes: 10 });
  keep("x".repeat(9), OTHER);
  const first = keep("a".repeat(6));
  const second = keep("b".repeat(6));
  expect(() => results.read(LOCAL, first, {})).toThrowError(/No result/);
  expect(results.read(LOCAL, second, {}).total).toBe(6);
  expect(results.list(OTHER)).toHaveLength(1);
});

it("shows a result to no token of its owner with fewer toolsets than the call had", () => {
  const { results, keep } = open();
  const withTools = (...toolsets: readonly string[]) => ({ ...LOCAL, grants: { toolsets } });
  const id = keep("x", withTools("shell", "files"));
  expect(results.read(withTools("files", "shell", "git"), id, {}).total).toBe(1);
  expect(results.read(LOCAL, id, {}).total).toBe(1);
  expect(() => results.read(withTools("files"), id, {})).toThrowError(/No result/);
  expect(results.list(withTools("files"))).toEqual([]);
  expect(() => results.read(withTools("files", "shell"), keep("y"), {})).toThrowError(/No result/);
});

it("keeps a thousand results of an owner unless told otherwise", () => {
  const { results, keep } = open();
  for (let count = 0; count < 1_001; count++) keep("x");
  expect(results.list(LOCAL)).toHaveLength(1_000);
});

it("keeps no more than a number of an owner's, however small", () => {
  const { results, keep } = open({ ownerTexts: 2 });
  keep("", OTHER);
  const [first, ...kept] = ["a", "b", "c"].map((text) => keep(text));
  expect(results.list(LOCAL).map(({ id }) => id)).toEqual(kept);
  expect(() => results.read(LOCAL, first ?? "", {})).toThrowError(/No result/);
  expect(results.list(OTHER)).toHaveLength(1);
});

it("holds no more than its bound for all owners together", () => {
  const { results, keep } = open({ totalBytes: 10 });
  keep("a".repeat(6), OTHER);
  keep("b".repeat(6));
  expect([results.list(OTHER).length, results.list(LOCAL).length]).toEqual([0, 1]);
});

it("cuts a text that is too long for itself between two characters", () => {
  const { results, keep } = open({ textBytes: 4 });
  expect(results.read(LOCAL, keep("日本"), {}).text).toBe("日");
});

it("forgets a result when its time is over", () => {
  const { results, keep, clock } = open({ maxAgeMs: 1_000 });
  keep("old");
  clock.ms = 1_000;
  expect(results.list(LOCAL)).toEqual([]);
});
