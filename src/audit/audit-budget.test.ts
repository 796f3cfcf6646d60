import { expect, it } from "vitest";
import { AuditBudget } from "./audit-budget.ts";

const HOUR_MS = 3_600_000;

it("gives each holder its bytes, no more", () => {
  const budget = new AuditBudget(100);
  expect(budget.has("a", 100, 0)).toBe(true);
  expect(budget.has("a", 101, 0)).toBe(false);
  budget.take("a", 60, 0);
  expect(budget.has("a", 40, 0)).toBe(true);
  expect(budget.has("a", 41, 0)).toBe(false);
  expect(budget.has("b", 100, 0)).toBe(true);
});

it("refills evenly in an hour, and not beyond", () => {
  const budget = new AuditBudget(100);
  budget.take("a", 100, 0);
  expect(budget.has("a", 50, HOUR_MS / 2 - 1)).toBe(false);
  expect(budget.has("a", 50, HOUR_MS / 2)).toBe(true);
  expect(budget.has("a", 101, 9 * HOUR_MS)).toBe(false);
});

it("takes nothing away when the clock goes back", () => {
  const budget = new AuditBudget(100);
  budget.take("a", 40, HOUR_MS);
  expect(budget.has("a", 60, 0)).toBe(true);
});

it("remembers the ten thousand holders that were used last", () => {
  const budget = new AuditBudget(1);
  const isRemembered = (holder: string): boolean => !budget.has(holder, 1, 0);
  for (const holder of ["used again", "oldest"]) budget.take(holder, 1, 0);
  for (let count = 2; count < 10_000; count++) budget.take(`other ${count}`, 1, 0);
  expect(isRemembered("used again")).toBe(true);
  budget.take("one more", 1, 0);
  expect(isRemembered("oldest")).toBe(false);
  expect(isRemembered("used again")).toBe(true);
});
