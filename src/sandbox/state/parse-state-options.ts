import type * as z from "zod";
import { BelljarError } from "../../errors.ts";
import { printable } from "../../files/printable.ts";

/** What a caller says of a state, checked. Throws `ARGUMENTS_INVALID`. */
export function parseStateOptions<Options>(what: string, schema: z.ZodType<Options>, options: unknown): Options {
  const parsed = schema.safeParse(options);
  if (parsed.success) return parsed.data;
  const { message = "it cannot be understood", path = [] } = parsed.error.issues[0] ?? {};
  const place = path.length > 0 ? ` (${printable(path.join(".").slice(0, 70))})` : "";
  throw new BelljarError("ARGUMENTS_INVALID", `The options of the ${what}${place}: ${message.slice(0, 200)}`);
}
