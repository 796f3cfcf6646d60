import { expect, it } from "vitest";
import { exportUnit } from "./export-units.ts";

it("ends where no folder can be made", async () => {
  const exporting = exportUnit("/proc/belljar", "add", { language: "shell", code: "" });
  await expect(exporting).rejects.toMatchObject({ code: "FILE_IO", message: expect.stringContaining("/proc/belljar/add (ENOENT)") });
});
