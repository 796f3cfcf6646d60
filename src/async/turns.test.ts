import { setImmediate as nextTurn } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { TurnsByKey } from "./turns-by-key.ts";
import { Turns } from "./turns.ts";

/** Work that logs its beginning and its end. It ends when `end` is called. */
function createWork(log: string[], name: string) {
  let end = (): void => undefined;
  const told = new Promise<void>((resolve) => (end = resolve));
  const work = async (): Promise<string> => {
    log.push(`${name} begins`);
    await told;
    log.push(`${name} ends`);
    return name;
  };
  return { work, end };
}

describe("turns", () => {
  it("come one at a time, in the order of the calls", async () => {
    const [turns, log] = [new Turns(), [] as string[]];
    const works = ["a", "b", "c"].map((name) => createWork(log, name));
    const runs = works.map(({ work }) => turns.run(work));
    for (const { end } of works.toReversed()) {
      end();
      await nextTurn();
    }
    expect(await Promise.all(runs)).toEqual(["a", "b", "c"]);
    expect(log).toEqual(["a begins", "a ends", "b begins", "b ends", "c begins", "c ends"]);
    expect(turns.isBusy).toBe(false);
  });

  it("go on after work that failed", async () => {
    const turns = new Turns();
    const failed = turns.run(() => Promise.reject(new Error("no")));
    const next = turns.run(async () => "next");
    await expect(failed).rejects.toThrow("no");
    expect(await next).toBe("next");
  });

  it("go to the next waiting caller before one that arrives at that moment", async () => {
    const [turns, log] = [new Turns(), [] as string[]];
    const first = await turns.take();
    const second = turns.take().then((turn) => (log.push("second"), turn));
    first[Symbol.dispose]();
    const third = turns.take().then((turn) => (log.push("third"), turn));
    await nextTurn();
    expect(log).toEqual(["second"]);
    (await second)[Symbol.dispose]();
    (await third)[Symbol.dispose]();
    expect(log).toEqual(["second", "third"]);
  });

  it("are never two at once", async () => {
    const turns = new Turns();
    let inside = 0;
    const work = async (): Promise<void> => {
      inside += 1;
      expect(inside).toBe(1);
      await nextTurn();
      inside -= 1;
    };
    const come = async (): Promise<void> => {
      for (let round = 0; round < 20; round += 1) await turns.run(work);
    };
    await Promise.all(Array.from({ length: 5 }, come));
  });

  it("skip callers that gave up, which get the reason of their signal", async () => {
    const [turns, log, giveUp] = [new Turns(), [] as string[], new AbortController()];
    const [first, last] = [createWork(log, "first"), createWork(log, "last")];
    const runs = [turns.run(first.work), turns.run(createWork(log, "never").work, giveUp.signal), turns.run(last.work)] as const;
    giveUp.abort(new Error("enough"));
    await expect(runs[1]).rejects.toThrow("enough");
    expect(log).toEqual(["first begins"]);
    first.end();
    last.end();
    await Promise.all([runs[0], runs[2]]);
    expect(log).toEqual(["first begins", "first ends", "last begins", "last ends"]);
  });

  it("are refused to a caller whose signal has already aborted", async () => {
    const turns = new Turns();
    await expect(turns.take(AbortSignal.abort(new Error("enough")))).rejects.toThrow("enough");
    expect(turns.isBusy).toBe(false);
  });

  it("have a limited number of waiting callers", async () => {
    const turns = new Turns(1);
    const first = await turns.take();
    const second = turns.take();
    await expect(turns.take()).rejects.toMatchObject({ code: "PROCESS_LIMIT" });
    first[Symbol.dispose]();
    (await second)[Symbol.dispose]();
    expect(turns.isBusy).toBe(false);
  });
});

describe("turns by key", () => {
  it("do not hold up callers with another key", async () => {
    const [turns, log] = [new TurnsByKey(), [] as string[]];
    const slow = createWork(log, "slow");
    const running = turns.run("a", slow.work);
    expect(await turns.run("b", async () => "quick")).toBe("quick");
    slow.end();
    await running;
  });

  it("are forgotten once no caller uses the key", async () => {
    const turns = new TurnsByKey();
    await Promise.allSettled([
      turns.run("a", async () => undefined),
      turns.run("a", () => Promise.reject(new Error("no"))),
      turns.run("a", async () => undefined, AbortSignal.abort()),
      turns.run("b", async () => undefined),
    ]);
    expect(turns.size).toBe(0);
  });

  it("stay one at a time while keys are forgotten in between", async () => {
    const turns = new TurnsByKey();
    let inside = 0;
    const work = async (): Promise<void> => {
      inside += 1;
      expect(inside).toBe(1);
      await nextTurn();
      inside -= 1;
    };
    const come = async (): Promise<void> => {
      for (let round = 0; round < 20; round += 1) {
        await turns.run("a", work);
        if (round % 3 === 0) await nextTurn();
      }
    };
    await Promise.all(Array.from({ length: 4 }, come));
    expect(turns.size).toBe(0);
  });

  it("are idle once every caller has had its turn, with success or failure", async () => {
    const [turns, log] = [new TurnsByKey(), [] as string[]];
    const slow = createWork(log, "slow");
    const runs = [turns.run("a", slow.work), turns.run("a", () => Promise.reject(new Error("no")))];
    const idle = turns.idle().then(() => log.push("idle"));
    slow.end();
    await Promise.allSettled([...runs, idle]);
    expect(log).toEqual(["slow begins", "slow ends", "idle"]);
    await turns.idle();
  });
});
