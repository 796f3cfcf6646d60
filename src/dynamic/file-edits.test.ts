import { expect, it } from "vitest";
import { BelljarError, type ErrorCode } from "../errors.ts";
import { FileEdits, type Edits } from "./file-edits.ts";
import type { ChangeListener, UnitId } from "./store/unit-store.ts";
import type { UnitLife } from "./unit-life.ts";

const UNIT: UnitId = { owner: "local", name: "weather" };
const OTHER: UnitId = { owner: "local", name: "other" };
const SPEC = { language: "python", code: "x" } as const;

/** One edit by hand, which fails as long as `failure` says so. */
function openEdit(failure: ErrorCode) {
  const state = { failure: failure as ErrorCode | undefined, tries: 0, taken: false, changed: undefined as ChangeListener | undefined };
  const place: Edits = {
    edits: async () => [UNIT],
    edited: async (_owner, name) => (name === UNIT.name && !state.taken ? { kind: "changed", spec: SPEC } : undefined),
    onEdit: (listener) => ((state.changed = listener), () => undefined),
  };
  const heard: ((problem: string) => void)[] = [];
  const add = async (): Promise<never> => {
    state.tries += 1;
    if (state.failure) throw new BelljarError(state.failure, `not at try ${state.tries}`);
    state.taken = true;
    return undefined as never;
  };
  const report = (problem: string): void => {
    heard.shift()?.(problem);
  };
  const edits = new FileEdits({ places: [place], life: { add } as unknown as UnitLife, isKnown: () => false, report });
  return { state, edits, refused: () => new Promise<string>((resolve) => heard.push(resolve)) };
}

it("tries again what a quota has refused, after the next change of any unit and at the next look", async () => {
  const { state, edits, refused } = openEdit("QUOTA_EXCEEDED");
  expect(await refused()).toBe('The edit of the tool "weather" was not taken up: tool.py: not at try 1');
  const second = refused();
  state.changed?.(OTHER);
  expect(await second).toContain("not at try 2");
  const third = refused();
  edits.tryAgain();
  expect(await third).toContain("not at try 3");
  expect(edits.problems("local").get("weather")).toEqual({ file: "tool.py", message: "not at try 3" });
  expect([...edits.problems("other")]).toEqual([]);
  state.failure = undefined;
  edits.tryAgain();
  await edits[Symbol.asyncDispose]();
  expect([state.tries, state.taken, edits.problemOf(UNIT)]).toEqual([4, true, undefined]);
});

it("tries again what is of the owner who looks, and of nobody else", async () => {
  const { state, edits, refused } = openEdit("QUOTA_EXCEEDED");
  await refused();
  edits.tryAgain("other");
  await edits[Symbol.asyncDispose]();
  expect(state.tries).toBe(1);
  edits.tryAgain(UNIT.owner);
  await edits[Symbol.asyncDispose]();
  expect(state.tries).toBe(2);
});

it("tries nothing again that would be refused again", async () => {
  const { state, edits, refused } = openEdit("TOOL_TESTS_FAILED");
  await refused();
  state.changed?.(OTHER);
  edits.tryAgain();
  await edits[Symbol.asyncDispose]();
  expect(state.tries).toBe(1);
});
