import { BelljarError } from "../errors.ts";
import type { Refusal } from "./tool.ts";

/** Codes that say something of the hub's own requests to the server: wrong headers, and a revision that the server does not speak. */
const OF_THE_HOP = new Set([-32_020, -32_022]);

/** The error of the protocol that a server answered, if it is one for the caller. */
export function refusalOf(error: unknown): Refusal | undefined {
  if (!(error instanceof BelljarError) || error.code !== "SERVER_REFUSED" || !(error.cause instanceof Error)) return undefined;
  const { code, message, data } = error.cause as Error & { readonly code?: unknown; readonly data?: unknown };
  if (typeof code !== "number" || OF_THE_HOP.has(code)) return undefined;
  return { code, message, ...(data !== undefined && { data }) };
}
