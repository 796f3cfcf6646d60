import type { ErrorShape } from "../../surfaces/surface.ts";
import { planeErrors } from "../e2b-errors.ts";

/** Connect's names of the statuses that it knows. */
const NAMES: Readonly<Record<number, string>> = {
  400: "invalid_argument",
  401: "unauthenticated",
  403: "permission_denied",
  404: "not_found",
  409: "already_exists",
  413: "resource_exhausted",
  429: "resource_exhausted",
  499: "canceled",
  501: "unimplemented",
  503: "unavailable",
  504: "deadline_exceeded",
};

/** A call by Connect is told of by Connect's own names; files, and a sandbox that is gone, as on the other planes. */
export const envdErrors: ErrorShape = (failure, request) =>
  failure.status !== 502 && isCall(request.url)
    ? { code: NAMES[failure.status] ?? "internal", message: failure.message }
    : planeErrors(failure, request);

function isCall(url = ""): boolean {
  return url.startsWith("/process.Process/") || url.startsWith("/filesystem.Filesystem/");
}
