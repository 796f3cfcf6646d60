import * as z from "zod";
import { BelljarError, ERRORS } from "../errors.ts";
import type { ErrorCode } from "../errors.ts";
import { parseJson } from "../files/parse-json.ts";

const failure = z.object({ error: z.object({ code: z.string(), message: z.string() }) });

/** Throws `SERVER_INCOMPATIBLE` for an answer of another shape. */
export function parseAnswer<Schema extends z.ZodType>(schema: Schema, body: string): z.output<Schema> {
  const parsed = schema.safeParse(parseJson(body));
  if (parsed.success) return parsed.data;
  throw incompatible("an answer of an unknown shape", parsed.error);
}

/** The server's error, with its own code; `INTERNAL` when this version has no such code. */
export function parseFailure(status: number, body: string): BelljarError {
  const parsed = failure.safeParse(parseJson(body));
  if (!parsed.success) return incompatible(`status ${status} without a reason`);
  return toError(parsed.data.error);
}

/** An error that a server tells of; `INTERNAL` when this version has no such code. */
export function toError({ code, message }: { readonly code: string; readonly message: string }): BelljarError {
  return new BelljarError(isErrorCode(code) ? code : "INTERNAL", message);
}

function isErrorCode(code: string): code is ErrorCode {
  return Object.hasOwn(ERRORS, code);
}

function incompatible(what: string, cause?: unknown): BelljarError {
  return new BelljarError("SERVER_INCOMPATIBLE", `The server sent ${what}; check that BELLJAR_URL names a Belljar of this version`, {
    cause,
  });
}
