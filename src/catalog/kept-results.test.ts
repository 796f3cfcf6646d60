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

it("forgets a result at the end of its time, and not a moment before", () => {
  const { results, keep, clock } = open();
  keep("a");
  clock.ms = 3_599_999;
  expect(results.list(LOCAL)).toHaveLength(1);
  clock.ms = 3_600_000;
  expect(results.list(LOCAL)).toEqual([]);
});

it("keeps eight mebibytes of a text, and sixteen of an owner", () => {
  const { results, keep } = open();
  const mebibytes = (count: number) => "x".repeat(count * 1_048_576);
  keep(mebibytes(8));
  keep(`${mebibytes(8)}x`);
  expect(results.list(LOCAL).map(({ bytes }) => bytes)).toEqual([8 * 1_048_576, 8 * 1_048_576]);
  keep("x");
  expect(results.list(LOCAL).map(({ bytes }) => bytes)).toEqual([8 * 1_048_576, 1]);
});

it("keeps 64 mebibytes of all owners", () => {
  const { results, keep } = open();
  const owners = Array.from({ length: 9 }, (_, index) => ({ id: String(index), name: "" }));
  for (const owner of owners) keep("x".repeat(8 * 1_048_576), owner);
  expect(owners.map((owner) => results.list(owner).length)).toEqual([0, 1, 1, 1, 1, 1, 1, 1, 1]);
});

it("answers at most 262,144 bytes at once, and so many if none are named", () => {
  const { results, keep } = open();
  const id = keep("x".repeat(262_145));
  expect([results.read(LOCAL, id, {}).bytes, results.read(LOCAL, id, { limit: 1_000_000 }).bytes]).toEqual([262_144, 262_144]);
  expect(results.read(LOCAL, id, { offset: 262_143 })).toEqual({ text: "xx", offset: 262_143, bytes: 2, total: 262_145 });
  expect(results.read(LOCAL, id, { offset: 1, limit: 3 })).toMatchObject({ text: "xxx", offset: 1 });
});

it("begins a part at a whole character, and ends it at one", () => {
  const { results, keep } = open();
  const id = keep("a日b");
  expect(results.read(LOCAL, id, { offset: 2 })).toEqual({ text: "b", offset: 4, bytes: 1, total: 5 });
  expect(results.read(LOCAL, id, { offset: 1, limit: 1 })).toMatchObject({ text: "日", bytes: 3 });
});

it("shows a result of a project to those who see that project", () => {
  const { results, keep } = open();
  const agent = (folder: string, sees: "own" | "all") => ({ ...LOCAL, project: { folder, sees } });
  const id = keep("x", agent("/a", "own"));
  for (const reader of [LOCAL, agent("/a", "own"), agent("/b", "all")]) expect(results.read(reader, id, {}).total).toBe(1);
  for (const made of [id, keep("of no project")]) expect(() => results.read(agent("/b", "own"), made, {})).toThrowError(/No result/);
});

it("names what is not there in a bounded text", () => {
  const { results } = open();
  expect(() => results.read(LOCAL, "x".repeat(1_000), {})).toThrowError(new RegExp(`^No result "x{40}"; `));
});
