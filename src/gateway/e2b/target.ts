import type { IncomingMessage } from "node:http";
import { BelljarError } from "../../errors.ts";
import { hostNameOf } from "../../network/ports/port-target.ts";

/** The sandbox and the port that a request of the sandbox planes is for. The sandbox may not exist. */
export interface SandboxTarget {
  readonly sandbox: string;
  readonly port: number;
}

const HOST = /^([1-9]\d{0,4})-([a-z0-9]{1,64})\./;
const PORT = /^[1-9]\d{0,4}$/;
const ID = /^[a-z0-9]{1,64}$/;

/**
 * By the host name, else by the two headers. A host name decides alone: a page that a sandbox serves could send any header. Undefined for a
 * request that names none so.
 */
export function findTarget(request: Pick<IncomingMessage, "headers">): SandboxTarget | undefined {
  const [, port, sandbox] = HOST.exec(hostNameOf(request)) ?? [];
  if (port !== undefined && sandbox !== undefined) return targetOf(sandbox, port);
  const { "e2b-sandbox-id": id, "e2b-sandbox-port": named } = request.headers;
  return typeof id === "string" && typeof named === "string" ? targetOf(id, named) : undefined;
}

/**
 * Throws `ARGUMENTS_INVALID` for a request without such a host name that has one of the two headers alone, or one that is no id or port. It
 * would else be taken for one that names no sandbox.
 */
export function assertWholeTarget(request: Pick<IncomingMessage, "headers">): void {
  const { "e2b-sandbox-id": id, "e2b-sandbox-port": port } = request.headers;
  if ((id === undefined && port === undefined) || findTarget(request)) return;
  const missing = id === undefined ? "E2b-Sandbox-Id" : port === undefined ? "E2b-Sandbox-Port" : undefined;
  const what = missing === undefined ? "E2b-Sandbox-Id or E2b-Sandbox-Port is not one that can be" : `missing header ${missing}`;
  throw new BelljarError("ARGUMENTS_INVALID", `${what}: send the id of the sandbox and the port, each once`);
}

/** Whether the host name is that of a port of a sandbox. */
export function hasTargetHost(request: Pick<IncomingMessage, "headers">): boolean {
  return HOST.test(hostNameOf(request));
}

function targetOf(sandbox: string, port: string): SandboxTarget | undefined {
  return ID.test(sandbox) && PORT.test(port) && Number(port) <= 65_535 ? { sandbox, port: Number(port) } : undefined;
}
