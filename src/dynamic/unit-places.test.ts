import { expect, it } from "vitest";
import { tellLeftFiles } from "./unit-places.ts";

const UNIT = { owner: "local", name: "weather" };

it("says that a unit is removed also where its files cannot be read", async () => {
  const edits = { edited: () => Promise.reject(new Error("EACCES")), placeOf: () => "/home/tools/weather" };
  expect(await tellLeftFiles(edits, UNIT)).toBe(
    '"weather" is removed. Whether files of it were changed by hand and stay cannot be told: Error: EACCES',
  );
});
