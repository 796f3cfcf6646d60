import { expect, it } from "vitest";
import { toSpec } from "./unit-arguments.ts";

it("takes sizes in MiB and times in milliseconds for what a unit has, and adds nothing", () => {
  const given = { language: "python", code: "1" } as const;
  expect(toSpec(given)).toEqual(given);
  expect(toSpec({ ...given, timeout_ms: 5, limits: { memory_mb: 2, disk_mb: 3, open_files: 4, pids: 5, cpus: 0.5 } })).toEqual({
    ...given,
    timeoutMs: 5,
    limits: { memoryBytes: 2_097_152, diskBytes: 3_145_728, openFiles: 4, pids: 5, cpus: 0.5 },
  });
});
