import { expect, it } from "vitest";
import { Slices } from "./slices.ts";

it("lets other work go on while a long one does not end", async () => {
  let isSeen = false;
  setImmediate(() => (isSeen = true));
  const slices = new Slices();
  while (!isSeen) await slices.next();
  expect(isSeen).toBe(true);
});
