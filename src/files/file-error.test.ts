import { expect, it } from "vitest";
import { BelljarError } from "../errors.ts";
import { fileError, ifPresent } from "./file-error.ts";

const failing = (code: string): Promise<never> => Promise.reject(Object.assign(new Error("it failed"), { code }));

it("takes what is absent for nothing, and tells every other failure by its code in the table", async () => {
  expect(await ifPresent("a", failing("ENOENT"))).toBeUndefined();
  expect(await ifPresent("a", failing("ENOTDIR"))).toBeUndefined();
  await expect(ifPresent("a", failing("EACCES"))).rejects.toMatchObject({ code: "FILE_IO", message: expect.stringContaining("EACCES") });
  await expect(ifPresent("a", failing("EDQUOT"))).rejects.toMatchObject({ code: "DISK_FULL" });
});

it("leaves an error of the table as it is", async () => {
  const error = new BelljarError("SANDBOX_ENDED", "over");
  expect(fileError("a", error)).toBe(error);
  await expect(ifPresent("a", Promise.reject(error))).rejects.toBe(error);
});
