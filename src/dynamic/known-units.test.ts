import { expect, it } from "vitest";
import { openJsonSchemas } from "../catalog/json-schemas.ts";
import { BelljarError } from "../errors.ts";
import { KnownUnits } from "./known-units.ts";
import type { ChangeListener, UnitStore } from "./store/unit-store.ts";
import type { UnitHead, UnitVersion } from "./unit.ts";

const ID = { owner: "local", name: "weather" };
const AWAY = new BelljarError("TOOL_STORE_UNAVAILABLE", "away");

function versionOf(number: number): UnitVersion {
  return { number, spec: { language: "shell", code: `echo ${number}` }, tools: [], createdAt: new Date(number) };
}

function headOf(...numbers: readonly number[]): UnitHead {
  const versions = numbers.map((number) => ({ number, createdAt: new Date(number), isTested: true }));
  return { ...ID, revision: numbers.length, versions, live: numbers.at(-1) ?? 0, isDisabled: false, isShared: false };
}

/** A store whose one unit the test changes, and whose versions it may take away. */
function open() {
  const state: { head: UnitHead | undefined; failure: Error | undefined; waits?: Promise<void> } = { head: headOf(1), failure: undefined };
  const listeners: ChangeListener[] = [];
  const served: (number | undefined)[] = [];
  const problems: string[] = [];
  const notUsed = () => Promise.reject(new Error("not used"));
  const store: UnitStore = {
    async heads() {
      const heads = state.head ? [state.head] : [];
      await state.waits;
      return heads;
    },
    head: async () => state.head,
    version: async (_owner, _name, number) => (state.failure ? Promise.reject(state.failure) : versionOf(number)),
    write: notUsed,
    remove: notUsed,
    alone: (_owner, work) => work(),
    onChange: (listener) => (listeners.push(listener), () => undefined),
    [Symbol.asyncDispose]: async () => undefined,
  };
  const units = new KnownUnits({
    store,
    live: { set: (_unit, given) => void served.push(given?.unit.version.number) },
    schemas: () => openJsonSchemas(),
    changed: () => undefined,
    report: (problem) => problems.push(problem),
  });
  return { state, units, served, problems, tell: (changed?: typeof ID) => listeners.forEach((listener) => listener(changed)) };
}

it("keeps what callers have while the store cannot be reached, and follows when it can", async () => {
  const { state, units, served, problems, tell } = open();
  await units.readAll();
  Object.assign(state, { head: headOf(1, 2), failure: AWAY });
  await expect(units.readAll()).rejects.toBe(AWAY);
  tell(ID);
  await units[Symbol.asyncDispose]();
  expect(problems).toEqual([expect.stringContaining("cannot be read again")]);
  expect(units.get(ID)?.revision).toBe(1);
  expect(served).toEqual([1]);
  state.failure = undefined;
  await units.readAll();
  expect(units.get(ID)?.revision).toBe(2);
  expect(served).toEqual([1, 2]);
});

it("leaves out a unit whose version is damaged, and has the others", async () => {
  const { state, units, served, problems } = open();
  state.failure = new BelljarError("FILE_IO", "damaged");
  await units.readAll();
  expect(units.shown(headOf(1))).toBeUndefined();
  expect(served).toEqual([undefined]);
  expect(problems).toEqual([expect.stringContaining("is left out")]);
});

it("answers with the live version from memory, and asks the store for others", async () => {
  const { state, units } = open();
  state.head = headOf(1, 2);
  await units.readAll();
  state.failure = AWAY;
  expect((await units.version(ID, 2)).spec.code).toBe("echo 2");
  expect(units.shown(state.head)).toMatchObject({ number: 2, spec: { language: "shell" } });
  await expect(units.version(ID, 1)).rejects.toBe(AWAY);
});

it("forgets a unit that is gone", async () => {
  const { state, units, served } = open();
  await units.readAll();
  state.head = undefined;
  await units.readAll();
  expect([...units.heads()]).toEqual([]);
  expect(served).toEqual([1, undefined]);
});

/** The store answers within a few turns of the loop. */
async function settled(): Promise<void> {
  for (let turn = 0; turn < 10; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}

it("takes over what the store says, also an older state and a unit that was made anew", async () => {
  const { state, units, served, tell } = open();
  state.head = headOf(1, 2, 3);
  await units.readAll();
  state.head = headOf(1, 2);
  tell(undefined);
  await settled();
  expect(units.get(ID)?.revision).toBe(2);
  state.head = { ...headOf(9), versions: [{ number: 1, createdAt: new Date(99), isTested: true }], live: 1 };
  tell(ID);
  await settled();
  expect([units.get(ID)?.revision, served]).toEqual([1, [3, 2, 1]]);
});

it("reads a version again that could not be read", async () => {
  const { state, units, served, problems } = open();
  state.failure = new BelljarError("FILE_IO", "too many open files");
  await units.readAll();
  state.failure = undefined;
  await units.readAll();
  await units.readAll();
  expect(served).toEqual([undefined, 1]);
  expect(problems).toHaveLength(1);
});

it("keeps what it has learnt while all units were read", async () => {
  const { state, units, tell } = open();
  let answer = (): void => undefined;
  state.head = undefined;
  state.waits = new Promise((resolve) => (answer = resolve));
  const old = units.readAll();
  state.head = headOf(1);
  tell(ID);
  await settled();
  answer();
  await old;
  expect(units.get(ID)?.revision).toBe(1);
  state.waits = new Promise((resolve) => (answer = resolve));
  const older = units.readAll();
  state.head = undefined;
  tell(ID);
  await settled();
  answer();
  await older;
  expect(units.get(ID)).toBeUndefined();
});
