import { expect, it } from "vitest";
import { BelljarError, type ErrorCode } from "../../../../errors.ts";
import { connectCodeOf } from "./connect-code.ts";

const codeOf = (code: ErrorCode): string => connectCodeOf(new BelljarError(code, ""));

it("calls a sandbox unavailable that is not there to be used, and none that lives", () => {
  for (const code of ["SANDBOX_NOT_FOUND", "SANDBOX_ENDED", "SANDBOX_STOPPED", "SANDBOX_PAUSED", "SANDBOX_ROLLED_BACK"] as const)
    expect(codeOf(code), code).toBe("unavailable");
  expect([codeOf("SERVER_BUSY"), codeOf("RUNTIME_UNAVAILABLE")]).toEqual(["aborted", "aborted"]);
  expect(codeOf("SANDBOX_UNRESPONSIVE")).toBe("deadline_exceeded");
});

it("calls a rate exhausted, and nothing that is too large", () => {
  expect([codeOf("QUOTA_EXCEEDED"), codeOf("PROCESS_LIMIT")]).toEqual(["resource_exhausted", "resource_exhausted"]);
  expect([codeOf("REQUEST_TOO_LARGE"), codeOf("RESULT_TOO_LARGE"), codeOf("FILE_TOO_LARGE")]).toEqual([
    "invalid_argument",
    "out_of_range",
    "out_of_range",
  ]);
  expect(codeOf("DISK_FULL")).toBe("internal");
});
