import { BelljarError } from "../errors.ts";
import { namedLimits } from "../sandbox/create-request.ts";
import { assertGranted } from "../sandbox/grants.ts";
import type { Principal } from "../sandbox/sandbox.ts";
import { type TemplateOptions, templateOptionsSchema } from "./wire/template-schema.ts";

/** Throws `ARGUMENTS_INVALID`, and `FORBIDDEN` for limits beyond what the caller may give a sandbox. */
export function parseOptions(options: TemplateOptions, principal: Principal): TemplateOptions {
  const parsed = templateOptionsSchema.safeParse(options);
  if (parsed.success) {
    assertGranted(namedLimits(parsed.data.limits ?? {}), principal);
    return parsed.data;
  }
  const { path = [], message = "" } = parsed.error.issues[0] ?? {};
  throw new BelljarError("ARGUMENTS_INVALID", `The ${path.join(".") || "request"} of a template ${message}`);
}

/** Somebody else's template and none are the same answer. */
export function noTemplate(name: string): BelljarError {
  return new BelljarError(
    "TEMPLATE_NOT_FOUND",
    `No template ${JSON.stringify(name.slice(0, 63))} of yours: list them with \`belljar template list\``,
  );
}

export function nameTaken(name: string): BelljarError {
  return new BelljarError("TEMPLATE_NAME_TAKEN", `Somebody else shares a template "${name}": make yours with another name, and share that`);
}
