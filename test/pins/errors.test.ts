import { expect, it } from "vitest";
import { ERRORS } from "../../src/errors.ts";

/** Callers match on codes: removing or renaming one, or changing its status, breaks them. */
it("keeps every error code with its status", () => {
  const rows = Object.entries(ERRORS).map(([code, { status, retryable }]) => `${code} ${status}${retryable ? " retryable" : ""}`);
  expect(rows).toMatchInlineSnapshot(`
    [
      "INTERNAL 500",
      "CONFIG_INVALID 400",
      "USAGE 400",
      "ARGUMENTS_INVALID 400",
      "UNAUTHORIZED 401",
      "FORBIDDEN 403",
      "NOT_SUPPORTED 501",
      "ROUTE_NOT_FOUND 404",
      "REQUEST_TOO_LARGE 413",
      "MEDIA_TYPE_UNSUPPORTED 415",
      "SERVER_UNREACHABLE 503 retryable",
      "SERVER_INCOMPATIBLE 502",
      "CANCELLED 499",
      "RUNTIME_UNAVAILABLE 503 retryable",
      "RUNTIME_FAILED 500 retryable",
      "LIMIT_UNENFORCEABLE 400",
      "TEMPLATE_NOT_FOUND 404",
      "SANDBOX_NOT_FOUND 404",
      "SANDBOX_ENDED 410",
      "SANDBOX_PAUSED 409 retryable",
      "QUOTA_EXCEEDED 429 retryable",
      "GUEST_PROTOCOL 502",
      "GUEST_VERSION 502",
      "GUEST_UNAUTHORIZED 502",
      "COMMAND_NOT_FOUND 400",
      "COMMAND_NOT_EXECUTABLE 400",
      "EXEC_TIMEOUT 408",
      "PROCESS_NOT_FOUND 404",
      "PROCESS_LIMIT 429 retryable",
      "USER_UNKNOWN 400",
      "FILE_NOT_FOUND 404",
      "FILE_EXISTS 409",
      "FILE_NOT_DIRECTORY 400",
      "FILE_IS_DIRECTORY 400",
      "FILE_DENIED 403",
      "FILE_TOO_LARGE 413",
      "DIRECTORY_NOT_EMPTY 409",
      "DISK_FULL 507",
      "PATH_INVALID 400",
      "FILE_NOT_TEXT 400",
      "FILE_IO 500",
      "PORT_REFUSED 502 retryable",
      "LANGUAGE_UNAVAILABLE 400",
      "SNIPPET_NOT_FOUND 404",
      "TOOL_NOT_FOUND 404",
      "AUDIT_FAILED 503 retryable",
      "WORKSPACE_INVALID 400",
      "WORKSPACE_CONFLICT 409",
    ]
  `);
});
