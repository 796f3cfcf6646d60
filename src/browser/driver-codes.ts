import type { ErrorCode } from "../errors.ts";

/** The codes that the driver may answer with. It runs among strangers: every other code would say something about the server. */
export const DRIVER_CODES = [
  "BROWSER_UNAVAILABLE",
  "BROWSER_CRASHED",
  "PAGE_CRASHED",
  "PAGE_UNRESPONSIVE",
  "ACTION_TIMEOUT",
  "ACTION_FAILED",
  "NAVIGATION_FAILED",
  "SCRIPT_FAILED",
  "DIALOG_OPEN",
  "TAB_NOT_FOUND",
  "TAB_LIMIT",
  "STALE_REF",
  "ELEMENT_NOT_FOUND",
  "ARGUMENTS_INVALID",
  "CANCELLED",
  "FILE_NOT_FOUND",
  "FILE_DENIED",
  "FILE_TOO_LARGE",
  "RESULT_TOO_LARGE",
  "NETWORK_DENIED",
] as const satisfies readonly ErrorCode[];

export type DriverCode = (typeof DRIVER_CODES)[number];
