import type { Failure } from "../../../surfaces/surface.ts";
import { isGone } from "../../e2b-errors.ts";

/** Where Connect's name says more than the status does. Clients take `resource_exhausted` for a limit of their rate. */
const BY_CODE: Readonly<Partial<Record<Failure["code"], string>>> = {
  NOT_SUPPORTED: "unimplemented",
  LIMIT_UNENFORCEABLE: "unimplemented",
  REQUEST_TOO_LARGE: "invalid_argument",
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
  413: "out_of_range",
  415: "invalid_argument",
  422: "failed_precondition",
  429: "resource_exhausted",
  499: "canceled",
  501: "unimplemented",
  502: "unavailable",
  503: "aborted",
  504: "deadline_exceeded",
  507: "internal",
};

/** Connect's name of a failure. By `unavailable` clients learn that there is no such sandbox, so nothing that may pass is called so. */
export function connectCodeOf({ code, status }: Pick<Failure, "code" | "status">): string {
  if (isGone({ code })) return "unavailable";
  return BY_CODE[code] ?? BY_STATUS[status] ?? "internal";
}
