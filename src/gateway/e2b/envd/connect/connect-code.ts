import type { Failure } from "../../../surfaces/surface.ts";

/** Where Connect's name says more than the status does. */
const BY_CODE: Readonly<Partial<Record<Failure["code"], string>>> = {
  NOT_SUPPORTED: "unimplemented",
  LIMIT_UNENFORCEABLE: "unimplemented",
  SANDBOX_PAUSED: "unavailable",
  SANDBOX_UNRESPONSIVE: "unavailable",
  SANDBOX_ROLLED_BACK: "unavailable",
  DIRECTORY_NOT_EMPTY: "failed_precondition",
};

const BY_STATUS: Readonly<Record<number, string>> = {
  400: "invalid_argument",
  401: "unauthenticated",
  403: "permission_denied",
  404: "not_found",
  408: "deadline_exceeded",
  409: "already_exists",
  410: "unavailable",
  413: "resource_exhausted",
  415: "invalid_argument",
  422: "failed_precondition",
  429: "resource_exhausted",
  499: "canceled",
  501: "unimplemented",
  502: "unavailable",
  503: "unavailable",
  504: "deadline_exceeded",
  507: "resource_exhausted",
};

/** Connect's name of a failure. */
export function connectCodeOf({ code, status }: Pick<Failure, "code" | "status">): string {
  return BY_CODE[code] ?? BY_STATUS[status] ?? "internal";
}
