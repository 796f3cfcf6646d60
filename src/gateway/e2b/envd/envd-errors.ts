import type { ErrorShape } from "../../surfaces/surface.ts";
import { planeErrors } from "../e2b-errors.ts";
import { connectCodeOf } from "./connect/connect-code.ts";

/** A call by Connect is told of by Connect's own names; files, and a sandbox that is gone, as on the other planes. */
export const envdErrors: ErrorShape = (failure, request) =>
  failure.status !== 502 && isCall(request.url)
    ? { code: connectCodeOf(failure), message: failure.message }
    : planeErrors(failure, request);

function isCall(url = ""): boolean {
  return url.startsWith("/process.Process/") || url.startsWith("/filesystem.Filesystem/");
}
