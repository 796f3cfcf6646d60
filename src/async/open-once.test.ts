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

it("tells whoever closes it what is open", async () => {
  const get = openOnce(async () => "open");
  expect(await get.current()).toBeUndefined();
  const opening = get();
  expect(await get.current()).toBe("open");
  await opening;
  const failing = openOnce(() => Promise.reject(new Error("Not now")));
  const failed = expect(failing()).rejects.toThrow("Not now");
  expect(await failing.current()).toBeUndefined();
  await failed;
});
