import { expect, it } from "vitest";
import type { Sandbox } from "../../sandbox/sandbox.ts";
import type { LastingInterpreter } from "./lasting-interpreters.ts";
import { LastingInterpreters } from "./lasting-interpreters.ts";

interface Sum {
  readonly add: number;
  readonly signal: AbortSignal;
  /** The run ends when this promise settles. */
  readonly until?: Promise<void>;
}

/** Keeps a sum as its state, and ends when the sum is 99. */
class Adder implements LastingInterpreter<Sum, number> {
  hasEnded = false;
  #sum = 0;
  #end: () => void = () => undefined;
  readonly #gone = new Promise<void>((resolve) => (this.#end = resolve));

  constructor(signal: AbortSignal) {
    signal.addEventListener("abort", () => this.#stop());
  }

  gone(): Promise<void> {
    return this.#gone;
  }

  async run({ add, until }: Sum): Promise<number> {
    await until;
    this.#sum += add;
    if (this.#sum === 99) this.#stop();
    return this.#sum;
  }

  #stop(): void {
    this.hasEnded = true;
    setImmediate(this.#end);
  }
}

function openAdders() {
  const opened: string[] = [];
  const made: Adder[] = [];
  const adders = new LastingInterpreters<Sum, number>({
    name: "adders",
    endIt: "reach 99",
    max: 2,
    waitingMax: 1,
    async open(sandbox, name, signal) {
      opened.push(`${sandbox.id} ${name}`);
      const adder = new Adder(signal);
      made.push(adder);
      return adder;
    },
  });
  const { signal } = new AbortController();
  const add = (id: string, name: string, number: number, more: Partial<Sum> = {}) =>
    adders.run({ id } as Sandbox, name, { add: number, signal, ...more });
  return { adders, opened, made, add };
}

it("keeps an interpreter for each name of each sandbox, and reports which run opened it", async () => {
  const { opened, add } = openAdders();
  expect(await add("a", "x", 1)).toEqual({ result: 1, created: true });
  expect(await add("a", "x", 2)).toEqual({ result: 3, created: false });
  expect(await add("a", "y", 5)).toEqual({ result: 5, created: true });
  expect(await add("b", "x", 7)).toEqual({ result: 7, created: true });
  expect(opened).toEqual(["a x", "a y", "b x"]);
});

it("serves the runs of one interpreter in order, limits the waiting runs, and does not delay other interpreters", async () => {
  const { add } = openAdders();
  let go = (): void => undefined;
  const slow = add("a", "x", 1, { until: new Promise<void>((resolve) => (go = resolve)) });
  const next = add("a", "x", 10);
  await expect(add("a", "x", 100)).rejects.toMatchObject({ code: "PROCESS_LIMIT" });
  expect(await add("a", "y", 2)).toEqual({ result: 2, created: true });
  go();
  expect([(await slow).result, (await next).result]).toEqual([1, 11]);
});

it("limits the interpreters of a sandbox, without counting ended ones and names that were never opened", async () => {
  const { adders, add } = openAdders();
  await add("a", "x", 1);
  for (const name of ["one", "two", "three"]) {
    await expect(add("a", name, 1, { signal: AbortSignal.abort(new Error("gone")) })).rejects.toThrow("gone");
  }
  await add("a", "y", 1);
  await expect(add("a", "z", 1)).rejects.toMatchObject({ code: "PROCESS_LIMIT", message: "This sandbox has 2 adders; reach 99" });
  expect(await add("a", "y", 98)).toEqual({ result: 99, created: false });
  expect(await add("a", "z", 4)).toEqual({ result: 4, created: true });
  await adders[Symbol.asyncDispose]();
});

it("releases all interpreters when it is disposed, and waits until they have ended", async () => {
  const { adders, made, add } = openAdders();
  await add("a", "x", 1);
  await add("b", "y", 1);
  const ends: string[] = [];
  const gone = made.map((adder, index) => adder.gone().then(() => ends.push(`gone ${index}`)));
  await adders[Symbol.asyncDispose]();
  ends.push("disposed");
  await Promise.all(gone);
  expect(ends).toEqual(["gone 0", "gone 1", "disposed"]);
});
