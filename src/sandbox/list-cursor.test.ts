import { expect, it } from "vitest";
import { comparePositions, type ListKind, parseCursor, type Position, toCursor } from "./list-cursor.ts";
import { LOCAL } from "./sandbox.ts";

const place = (ms: number, letter: string): Position => ({ createdAt: new Date(ms), id: letter.repeat(20) });
const kind: ListKind = { principal: LOCAL, filter: {} };
const refused = expect.objectContaining({ code: "ARGUMENTS_INVALID" }) as Error;

it("has the newest first, and those of one moment by their ids", () => {
  const [newest, first, second, oldest] = [place(3, "z"), place(2, "a"), place(2, "b"), place(1, "c")];
  expect([second, oldest, newest, first].toSorted(comparePositions)).toEqual([newest, first, second, oldest]);
  expect(comparePositions(first, place(2, "a"))).toBe(0);
});

it("leads back to its place", () => {
  expect(parseCursor(toCursor(place(1_700_000_000_000, "q"), kind), kind)).toEqual(place(1_700_000_000_000, "q"));
});

it("is good for one list: of one principal, and with one filter", () => {
  const filter = { state: ["running", "paused"], metadata: { a: "1", b: "2" } } as const;
  const cursor = toCursor(place(1, "a"), { principal: LOCAL, filter });
  const same = { state: ["paused", "running"], metadata: { b: "2", a: "1" } } as const;
  expect(parseCursor(cursor, { principal: LOCAL, filter: same })).toEqual(place(1, "a"));
  const others: readonly ListKind[] = [
    { principal: { id: "other", name: "local" }, filter },
    { principal: { ...LOCAL, project: { folder: "/srv/a", sees: "own" } }, filter },
    { principal: LOCAL, filter: { metadata: filter.metadata } },
    { principal: LOCAL, filter: { state: filter.state } },
    { principal: LOCAL, filter: { state: ["running"], metadata: filter.metadata } },
    { principal: LOCAL, filter: { ...filter, metadata: { a: "2", b: "1" } } },
    kind,
  ];
  for (const other of others) expect(() => parseCursor(cursor, other), JSON.stringify(other)).toThrow(refused);
});

it("refuses a text that is no cursor", () => {
  const cursor = toCursor(place(1, "a"), kind);
  const digest = cursor.slice(-16);
  const long = `${"1".repeat(15)}.${"a".repeat(20)}.${digest}`;
  expect(parseCursor(long, kind).createdAt).toEqual(new Date(111_111_111_111_111));
  for (const text of ["", `${cursor} `, `x${cursor}`, `1${long}`, cursor.toUpperCase(), `-${cursor}`, `1.${"a".repeat(19)}.${digest}`])
    expect(() => parseCursor(text, kind), text).toThrow(refused);
});
