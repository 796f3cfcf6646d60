import { isDeepStrictEqual } from "node:util";
import { expect, it } from "vitest";
import { LOCAL } from "../../../src/sandbox/sandbox.ts";
import { openPackedLab, type PackedLab, whereabouts } from "../../support/packed-lab.ts";
import { until } from "../../support/until.ts";

const left = (lab: PackedLab) => ({ waiting: lab.waiting(), ownerless: lab.ownerless(), keys: lab.keys(), ready: lab.counts()?.ready });
const NOTHING = { waiting: [], ownerless: [], keys: [], ready: 0 };
/** This process counts what it has after another one has cleared the files. */
const untilNothing = (lab: PackedLab) =>
  until(
    () => isDeepStrictEqual(left(lab), NOTHING),
    () => JSON.stringify(left(lab)),
  );

it("removing the last tool with the packages ends what waits with them, and leaves no layer", async () => {
  await using lab = await openPackedLab({ passing: { kinds: 2, size: 2 } });
  await lab.add(whereabouts("one"));
  await lab.add(whereabouts("two"));
  await lab.hasWaiting(2);
  expect(lab.layers()).not.toEqual([]);
  await lab.tools.remove(LOCAL, "one");
  await lab.hasWaiting(2);
  await lab.tools.remove(LOCAL, "two");
  expect(left(lab)).toEqual(NOTHING);
  await until(() => lab.layers().length === 0);
  expect([lab.layers(), await lab.sandboxes.hiddenSnapshots.list(), lab.problems]).toEqual([[], [], []]);
});

it("what is being made when the snapshot goes never waits", async () => {
  await using lab = await openPackedLab({ passing: { kinds: 2, size: 2 } });
  for (let turn = 0; turn < 4; turn++) {
    await lab.add(whereabouts("where"));
    await until(() => lab.ownerless().length > 0);
    for (let at = 0; at < turn * 15; at++) await new Promise(setImmediate);
    await lab.tools.remove(LOCAL, "where");
    expect(left(lab)).toEqual(NOTHING);
  }
  await until(() => lab.layers().length === 0);
  expect([lab.layers(), lab.problems]).toEqual([[], []]);
});

it("another process that removes the snapshot ends what waits of it here", async () => {
  await using lab = await openPackedLab({ passing: { kinds: 2, size: 2 } });
  await lab.add(whereabouts("where"));
  const other = await lab.another();
  await lab.hasWaiting(2);
  await other.tools.remove(LOCAL, "where");
  expect(lab.waiting()).toEqual([]);
  await until(() => lab.layers().length === 0);
  await untilNothing(lab);
  expect([lab.layers(), lab.problems]).toEqual([[], []]);
});

it("what is being made here when another process removes the snapshot never waits", async () => {
  await using lab = await openPackedLab({ passing: { kinds: 2, size: 2 } });
  const other = await lab.another();
  for (let turn = 0; turn < 4; turn++) {
    await lab.add(whereabouts("where"));
    await until(() => lab.ownerless().length > 0);
    for (let at = 0; at < turn * 15; at++) await new Promise(setImmediate);
    for (const { id } of await other.sandboxes.hiddenSnapshots.list()) await other.sandboxes.hiddenSnapshots.remove(id);
    await until(() => lab.layers().length === 0);
    await untilNothing(lab);
    await lab.tools.remove(LOCAL, "where");
  }
  expect(lab.problems).toEqual([]);
});

it("a process that closes ends what waits, and the packages stay for the next one", async () => {
  await using lab = await openPackedLab({ passing: { kinds: 2, size: 2 } });
  const other = await lab.another();
  await other.add(whereabouts("where"));
  await until(() => lab.waiting().length === 2);
  await other.tools[Symbol.asyncDispose]();
  await other.sandboxes[Symbol.asyncDispose]();
  expect(left(lab)).toEqual(NOTHING);
  expect(await lab.sandboxes.hiddenSnapshots.list()).toHaveLength(1);
});
