import type { IncomingMessage } from "node:http";
import type { PortAnswer, PortFailure } from "../../../network/ports/port-answer.ts";
import { failureAnswer } from "../../../network/ports/port-answer.ts";
import { PAGES_MAY_READ } from "../../../network/ports/port-headers.ts";
import { controlStatus, isGone } from "../e2b-errors.ts";
import { findTarget } from "../target.ts";

/** A failure at a port as E2B's proxy tells of it. Pages of every site may read it. */
export function tellPortFailure(failure: PortFailure, request: IncomingMessage): PortAnswer {
  const { sandbox: sandboxId = "", port } = findTarget(request) ?? {};
  const { status, body } = bodyOf(failure, port);
  const answer = failureAnswer({ ...failure, status }, request, { sandboxId, ...body, code: status });
  return { ...answer, headers: [...answer.headers, ...PAGES_MAY_READ] };
}

function bodyOf(failure: PortFailure, port: number | undefined): { readonly status: number; readonly body: object } {
  const { code, message } = failure;
  if (isGone(failure)) return { status: 502, body: { message: "The sandbox was not found", reason: message } };
  if (code === "PORT_REFUSED" || code === "GUEST_PROTOCOL") {
    return { status: 502, body: { message: "The sandbox is running but port is not open", port, reason: message } };
  }
  if (code === "PORT_LINK_INVALID") return { status: 403, body: { message: NEEDS_TOKEN } };
  return { status: controlStatus(failure), body: { message } };
}

const NEEDS_TOKEN = "The ports of this sandbox need its traffic access token: send it in the header e2b-traffic-access-token";
