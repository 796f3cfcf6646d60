import * as z from "zod";
import { explainIssue } from "../catalog/explain-issue.ts";
import { BelljarError } from "../errors.ts";

/** Throws `ARGUMENTS_INVALID` with every bad field named. */
export function parseRequest<Schema extends z.ZodType>(schema: Schema, value: unknown): z.output<Schema> {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  throw badRequest(parsed.error, schema, value);
}

/** For Fastify: a part of a request is what the route's schema makes of it. */
export function validatorOf({ schema }: { readonly schema: unknown }): (value: unknown) => { value?: unknown; error?: Error } {
  if (!(schema instanceof z.ZodType)) throw new TypeError("A route's schema is not a zod schema");
  return (value) => {
    const parsed = schema.safeParse(value);
    return parsed.success ? { value: parsed.data } : { error: badRequest(parsed.error, schema, value) };
  };
}

function badRequest({ issues }: z.ZodError, schema: z.ZodType, value: unknown): BelljarError {
  const known = schema instanceof z.ZodObject ? Object.keys(schema.shape) : [];
  const lines = issues.slice(0, 20).map((issue) => `${issue.path.join(".") || "request"}: ${explainIssue(issue, value, known)}`);
  return new BelljarError("ARGUMENTS_INVALID", lines.join("; "));
}
