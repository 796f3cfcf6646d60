import { BelljarError } from "../errors.ts";
import { unitNameSchema } from "./store/stored-unit.ts";

/** Throws `ARGUMENTS_INVALID`. A person is asked about names, and finds them as folders. */
export function assertUnitName(name: string): void {
  const parsed = unitNameSchema.safeParse(name);
  if (parsed.success) return;
  const [issue] = parsed.error.issues;
  throw new BelljarError(
    "ARGUMENTS_INVALID",
    `The name ${JSON.stringify(name.slice(0, 100))} ${issue?.message ?? "cannot be"}: choose another one`,
  );
}

/** Another unit of the owner has the name. */
export function nameTaken(name: string, cause?: unknown): BelljarError {
  return new BelljarError("TOOL_NAME_TAKEN", `You have a tool "${name}" already: update it, or choose another name`, { cause });
}
