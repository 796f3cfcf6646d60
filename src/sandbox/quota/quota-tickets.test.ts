import { mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { QuotaTickets, type TicketText } from "./quota-tickets.ts";

let home: string;
let tickets: QuotaTickets;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "bj-tickets-"));
  tickets = new QuotaTickets(home);
});
afterEach(() => rmSync(home, { recursive: true }));

const text = (letter: string): TicketText => ({
  id: letter.repeat(20),
  creator: { pid: 7, startedMs: 8 },
  createdAt: new Date(1_700_000_000_000),
  memoryBytes: 2 ** 40,
});

async function takeMany(count: number): Promise<void> {
  for (let index = 0; index < count; index += 1) await tickets.take("ci", text("a"));
}

/** The numbers that lie on disk, of the one owner that there is. */
function numbers(): readonly number[] {
  const folders = readdirSync(join(home, "quotas"));
  return folders
    .flatMap((name) => readdirSync(join(home, "quotas", name)))
    .map(Number)
    .toSorted((one, other) => one - other);
}

it("counts from one for each owner, and tells what was said", async () => {
  expect([await tickets.take("ci", text("a")), await tickets.take("ci", text("b")), await tickets.take("other", text("c"))]).toEqual([
    1, 2, 1,
  ]);
  expect(await tickets.list("ci")).toEqual([
    { number: 1, ...text("a") },
    { number: 2, ...text("b") },
  ]);
  expect(await new QuotaTickets(home).list("other")).toEqual([{ number: 1, ...text("c") }]);
  expect(await tickets.list("nobody")).toEqual([]);
});

it("keeps the number of a ticket that was withdrawn, and counts it no more", async () => {
  await takeMany(2);
  await tickets.withdraw("ci", 2);
  expect((await tickets.list("ci")).map(({ number }) => number)).toEqual([1]);
  expect(await tickets.take("ci", text("b"))).toBe(3);
});

it("forgets what is sixteen below the highest and lives no more", async () => {
  await takeMany(16);
  await tickets.forget("ci", () => false);
  expect(numbers()).toHaveLength(16);
  await takeMany(4);
  await tickets.forget("ci", ({ number }) => number === 2);
  expect(numbers()).toEqual([2, ...Array.from({ length: 16 }, (_, index) => index + 5)]);
});

it("forgets a ticket that was withdrawn, though its sandbox lives", async () => {
  await takeMany(1);
  await tickets.withdraw("ci", 1);
  await takeMany(16);
  await tickets.forget("ci", () => true);
  expect(numbers()[0]).toBe(2);
});

it("takes no ticket for one that it is not", async () => {
  await takeMany(1);
  const folder = join(home, "quotas", readdirSync(join(home, "quotas"))[0] ?? "");
  const { id } = text("b");
  for (const [index, bad] of [id, `${id} 1 2 3`, `${id} 1 2 3 4 5`, `${id}x 1 2 3 4`, `${id} -1 2 3 4`, ` ${id} 1 2 3 4`].entries())
    symlinkSync(bad, join(folder, String(index + 2)));
  mkdirSync(join(folder, "folder"));
  writeFileSync(join(folder, "x"), "");
  expect((await tickets.list("ci")).map(({ number }) => number)).toEqual([1]);
  expect(await tickets.take("ci", text("c"))).toBe(8);
});
