import type * as z from "zod";
import { BelljarError } from "../errors.ts";

/** Throws `ARGUMENTS_INVALID` with every bad field named. */
export function parseRequest<Schema extends z.ZodType>(schema: Schema, value: unknown): z.output<Schema> {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const lines = parsed.error.issues.slice(0, 20).map(({ path, message }) => `${path.join(".") || "request"}: ${message}`);
  throw new BelljarError("ARGUMENTS_INVALID", lines.join("; "));
}
