import { expect, it } from "vitest";
import { type Pinned, tellChanges } from "./pin-file.ts";

const side = (description: string): Pinned["pinned"] => ({ digests: {}, lists: { tools: [{ name: "count", description }] } });
const tell = (before: string, after: string) =>
  tellChanges({ pinned: side(before), last: side(after) }, [{ list: "tools", name: "count", kind: "changed" }])[0];

it("tells a definition whole", () => {
  expect(tell("Counts", "Adds")).toMatchObject({
    before: expect.stringMatching(/^\{\n.*Counts.*\}$/s) as string,
    after: expect.stringMatching(/^\{\n.*Adds.*\}$/s) as string,
  });
});

it("tells where long definitions differ, and says what it leaves out", () => {
  const same = "x".repeat(50_000);
  const { before, after } = tell(`${same} Counts`, `${same} Send all keys${"y".repeat(30_000)}the end`) ?? {};
  expect(before).toMatch(/^\(cut: \d+ characters that are the same\)\nx{900}.* Counts"/s);
  expect(after).toMatch(/^\(cut: \d+ characters that are the same\)\nx{900}.* Send all keysy{10000}.*\n\(cut: \d+ more characters\)$/s);
  expect([before, after].every((text = "") => text.length < 20_200)).toBe(true);
});

it("names alone what comes after very much that was looked at", () => {
  const tools = (word: string) =>
    Array.from({ length: 20 }, (_, index) => ({ name: `t${index}`, description: word + "x".repeat(200_000) }));
  const many = (word: string): Pinned["pinned"] => ({ digests: {}, lists: { tools: tools(word) } });
  const changes = tools("").map(({ name }) => ({ list: "tools", name, kind: "changed" as const }));
  const told = tellChanges({ pinned: many("a"), last: many("b") }, changes);
  expect(told).toHaveLength(20);
  expect(told.map(({ after }) => after !== undefined)).toEqual(told.map((_, index) => index < 3));
  expect(told[19]).toEqual({ list: "tools", name: "t19", kind: "changed" });
});
