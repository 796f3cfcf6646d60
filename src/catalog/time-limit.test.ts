import { expect, it } from "vitest";
import { createTimeLimit } from "./time-limit.ts";

const forEver = (): void => {
  for (;;);
};

it("cuts work short that takes all of the processor", () => {
  let [tries, usedMs] = [0, 0];
  expect(createTimeLimit(() => (usedMs += 50)).run(() => ((tries += 1), forEver()), 50)).toBe("tooLong");
  expect(tries).toBe(1);
});

it("does work again that was cut short while the process stood still", () => {
  const standsStill = createTimeLimit(() => 0);
  let tries = 0;
  const slowOnce = (): void => {
    if ((tries += 1) === 1) forEver();
  };
  expect(standsStill.run(slowOnce, 500)).toBe("ran");
  expect(tries).toBe(2);
});

it("says that the machine stalls, and tries no third time", () => {
  let tries = 0;
  expect(createTimeLimit(() => 0).run(() => ((tries += 1), forEver()), 20)).toBe("stalled");
  expect(tries).toBe(2);
});

it("throws what the work throws", () => {
  expect(() =>
    createTimeLimit().run(() => {
      throw new TypeError("no");
    }, 50),
  ).toThrow("no");
});
