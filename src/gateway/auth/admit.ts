import type { FastifyReply, FastifyRequest } from "fastify";
import { BelljarError } from "../../errors.ts";
import type { Principal } from "../../sandbox/sandbox.ts";
import type { Access } from "./access.ts";
import { assertGranted } from "./access.ts";
import type { Callers } from "./callers.ts";

export interface AdmitOptions {
  readonly callers: Callers;
  /** Where clients learn how to get a token, when an issuer makes them. */
  readonly metadataUrl?: string;
}

export interface Asked {
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
  /** Of the route that was found. */
  readonly access: Access;
}

/** Who sent the request, and may. Whoever is refused is told, in the way of HTTP, what would let them in. */
export async function admit({ request, reply, access }: Asked, { callers, metadataUrl }: AdmitOptions): Promise<Principal> {
  try {
    const caller = await callers.admit(request.raw);
    assertGranted(caller, access, `${request.method} ${request.routeOptions.url ?? ""}`);
    return caller;
  } catch (error) {
    const failure = error instanceof BelljarError ? FAILURES[error.code] : undefined;
    const refusal = request.headers.authorization === undefined ? undefined : failure;
    if (failure !== undefined) void reply.header("www-authenticate", challenge(refusal, metadataUrl));
    throw error;
  }
}

const FAILURES: Readonly<Partial<Record<BelljarError["code"], string>>> = {
  UNAUTHORIZED: "invalid_token",
  FORBIDDEN: "insufficient_scope",
};

function challenge(error: string | undefined, metadataUrl: string | undefined): string {
  if (metadataUrl === undefined) return "Bearer";
  const fields = [...(error === undefined ? [] : [["error", error]]), ["scope", "belljar"], ["resource_metadata", metadataUrl]];
  return `Bearer ${fields.map(([name, value]) => `${name}="${value}"`).join(", ")}`;
}
