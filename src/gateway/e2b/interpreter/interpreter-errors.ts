import type { ErrorShape } from "../../surfaces/surface.ts";
import { isGone, planeErrors } from "../e2b-errors.ts";

/** Plain texts, which clients show as they are; a sandbox that is gone is told of as on the other planes. */
export const interpreterErrors: ErrorShape = (failure, request) => (isGone(failure) ? planeErrors(failure, request) : failure.message);
