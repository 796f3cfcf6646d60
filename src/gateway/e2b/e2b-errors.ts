import type { ErrorShape, Failure } from "../surfaces/surface.ts";
import { findTarget } from "./target.ts";

/** `{ code, message }` with the status as `code`, as E2B's control plane answers. Clients read the number, not the status alone. */
export const controlErrors: ErrorShape = ({ status, message, code }) => ({ code: status, message, error_code: code });

/** What a sandbox's own plane answers while there is no such sandbox that runs. */
const GONE: ReadonlySet<Failure["code"]> = new Set([
  "SANDBOX_NOT_FOUND",
  "SANDBOX_ENDED",
  "SANDBOX_STOPPED",
  "SANDBOX_PAUSED",
  "SANDBOX_FILES_LOST",
]);

/** Where E2B's control plane answers otherwise than the table of errors. */
const STATUSES: Readonly<Partial<Record<Failure["code"], number>>> = {
  SANDBOX_ENDED: 404,
  SANDBOX_FILES_LOST: 404,
  NOT_SUPPORTED: 400,
  LIMIT_UNENFORCEABLE: 400,
  IMAGE_INVALID: 400,
};

export function controlStatus({ code, status }: Pick<Failure, "code" | "status">): number {
  return STATUSES[code] ?? status;
}

/** 502, and a body that names the sandbox, as E2B's proxy in front of its sandboxes answers. */
export function isGone({ code }: Pick<Failure, "code">): boolean {
  return GONE.has(code);
}

export const planeErrors: ErrorShape = ({ status, message, code }, request) =>
  GONE.has(code)
    ? { sandboxId: findTarget(request)?.sandbox ?? "", message: "The sandbox was not found", code: 502, reason: message }
    : { code: status, message };

export function planeStatus(failure: Failure): number {
  return isGone(failure) ? 502 : controlStatus(failure);
}
