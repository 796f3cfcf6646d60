import { expect, it } from "vitest";
import { createSandboxId, isIdStart, isSandboxId, isSandboxName, isShortId, toShortId } from "./sandbox-id.ts";

const ID = "a1b2c3d4e5f6g7h8i9j0";

it("makes ids of 20 letters and digits, no two alike", () => {
  const ids = Array.from({ length: 100 }, createSandboxId);
  expect(ids.every(isSandboxId)).toBe(true);
  expect(new Set(ids).size).toBe(100);
  // Each character of the alphabet comes, also its first and last.
  expect(new Set(ids.join("")).size).toBe(36);
});

it("tells an id, its beginning and its short form from other texts", () => {
  expect([isSandboxId(ID), isIdStart(ID), isShortId(toShortId(ID)), toShortId(ID)]).toEqual([true, true, true, "a1b2c3d4"]);
  for (const text of ["", ID.slice(1), `${ID}0`, ID.toUpperCase(), `${ID}\n`]) expect(isSandboxId(text), text).toBe(false);
  expect([isIdStart("a"), isIdStart(""), isIdStart(`${ID}0`), isIdStart("a-")]).toEqual([true, false, false, false]);
  expect([isShortId("a1b2c3d"), isShortId("a1b2c3d4e")]).toEqual([false, false]);
});

it("takes names of 63 characters that are no ids and no routes", () => {
  for (const name of ["a", "A.b_c-9", "a".repeat(63), ID.toUpperCase(), ID.slice(1)]) expect(isSandboxName(name), name).toBe(true);
  for (const name of ["", "a".repeat(64), "-a", ".a", "_a", "a b", "a/b", "é", ID, "events"]) expect(isSandboxName(name), name).toBe(false);
});
