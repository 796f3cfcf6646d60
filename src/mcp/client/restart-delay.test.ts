import { expect, it } from "vitest";
import { restartDelayMs } from "./restart-delay.ts";

it("starts a server again at once the first time, and waits ever longer for one that goes on ending", () => {
  expect([1, 2, 3, 4].map(restartDelayMs)).toEqual([0, 500, 1000, 2000]);
  expect([8, 9, 10_000].map(restartDelayMs)).toEqual([30_000, 30_000, 30_000]);
});
