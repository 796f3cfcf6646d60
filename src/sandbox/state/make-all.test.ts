import { expect, it } from "vitest";
import { makeAll } from "./make-all.ts";

it("makes all, with a few at a time", async () => {
  let [running, most] = [0, 0];
  const made = await makeAll(20, async () => {
    most = Math.max(most, (running += 1));
    await new Promise(setImmediate);
    running -= 1;
    return { kill: async () => undefined };
  });
  expect([made.length, most]).toEqual([20, 8]);
});

it("kills those that it has made if one cannot be made, and makes no more", async () => {
  let [count, killed] = [0, 0];
  const asked = makeAll(20, async () => {
    if ((count += 1) === 3) throw new Error("the third");
    await new Promise(setImmediate);
    return { kill: async () => void (killed += 1) };
  });
  await expect(asked).rejects.toThrow("the third");
  expect([count, killed]).toEqual([8, 7]);
});
