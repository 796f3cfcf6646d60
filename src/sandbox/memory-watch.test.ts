import { expect, it } from "vitest";
import type { Usage } from "../runtime/runtime.ts";
import { ranOutOfMemory } from "./memory-watch.ts";

const ENDED = { exitCode: 0, signal: undefined, timedOut: false };

/** Whether the command is told as out of memory, and how often the keeper was asked. */
async function judge(end: Partial<typeof ENDED> | { readonly exitCode: undefined; readonly signal: string }, oomKills: number) {
  let questions = 0;
  const usage = async () => {
    questions += 1;
    return { oomKills } as Usage;
  };
  return [await ranOutOfMemory({ usage }, { ...ENDED, ...end }, 3), questions];
}

it("asks only after a SIGKILL, of the command or below its shell", async () => {
  expect(await judge({}, 4)).toEqual([false, 0]);
  expect(await judge({ exitCode: 1 }, 4)).toEqual([false, 0]);
  expect(await judge({ exitCode: undefined, signal: "SIGTERM" }, 4)).toEqual([false, 0]);
  expect(await judge({ exitCode: 137, timedOut: true }, 4)).toEqual([false, 0]);
  expect(await judge({ exitCode: undefined, signal: "SIGKILL" }, 4)).toEqual([true, 1]);
});

it("tells a kill for memory from any other by the count", async () => {
  expect(await judge({ exitCode: 137 }, 3)).toEqual([false, 1]);
  expect(await judge({ exitCode: 137 }, 4)).toEqual([true, 1]);
});
