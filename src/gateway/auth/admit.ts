import type { IncomingHttpHeaders } from "node:http";
import type { FastifyReply, FastifyRequest } from "fastify";
import { BelljarError } from "../../errors.ts";
import type { Principal } from "../../sandbox/sandbox.ts";
import type { Access } from "./access.ts";
import { assertGranted } from "./access.ts";
import type { Callers } from "./callers.ts";

/** What a refusal asks for, in the way of HTTP. */
export interface Challenge {
  /** Where clients learn how to get a token, when an issuer makes them. */
  readonly metadataUrl: string | undefined;
}

export interface AskedFor {
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
  /** Of the route that was found. */
  readonly access: Access;
}

/** Who sent the request, and may. Whoever is refused is told by the challenge, if there is one, what would let them in. */
export async function admit({ request, reply, access }: AskedFor, callers: Callers, challenge: Challenge | undefined): Promise<Principal> {
  try {
    const caller = await callers.admit(request.raw, reply.raw);
    assertGranted(caller, access, `${request.method} ${request.routeOptions.url ?? ""}`);
    return caller;
  } catch (error) {
    void reply.headers(challengeHeaders(error, request.headers, challenge));
    throw error;
  }
}

/** Headers of the answer to a caller that was refused. None for other failures. */
export function challengeHeaders(
  error: unknown,
  { authorization }: IncomingHttpHeaders,
  challenge: Challenge | undefined,
): Readonly<Record<string, string>> {
  const failure = error instanceof BelljarError ? FAILURES[error.code] : undefined;
  if (failure === undefined || !challenge) return {};
  return { "www-authenticate": formatChallenge(authorization === undefined ? undefined : failure, challenge) };
}

const FAILURES: Readonly<Partial<Record<BelljarError["code"], string>>> = {
  UNAUTHORIZED: "invalid_token",
  FORBIDDEN: "insufficient_scope",
};

function formatChallenge(error: string | undefined, { metadataUrl }: Challenge): string {
  if (metadataUrl === undefined) return "Bearer";
  const fields = [...(error === undefined ? [] : [["error", error]]), ["scope", "belljar"], ["resource_metadata", metadataUrl]];
  return `Bearer ${fields.map(([name, value]) => `${name}="${value}"`).join(", ")}`;
}
