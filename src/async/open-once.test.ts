import { expect, it } from "vitest";
import { openOnce } from "./open-once.ts";

it("opens once for all, and again after a failure", async () => {
  let opens = 0;
  const get = openOnce(async () => {
    opens += 1;
    if (opens === 1) throw new Error("Not now");
    return opens;
  });
  expect(await Promise.allSettled([get(), get()])).toMatchObject([{ status: "rejected" }, { status: "rejected" }]);
  expect(await Promise.all([get(), get()])).toEqual([2, 2]);
  expect(await get()).toBe(2);
});
