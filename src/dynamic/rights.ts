import { BelljarError } from "../errors.ts";
import type { Principal } from "../sandbox/sandbox.ts";
import type { UnitSpec } from "./unit.ts";

/** Whether the caller may change what callers have. One with a token may with the scope for it alone. */
export function mayPublish({ grants }: Principal): boolean {
  return grants === undefined || grants.publishesTools === true;
}

/** Throws `FORBIDDEN` unless it may. */
export function assertMayPublish(principal: Principal): void {
  if (!mayPublish(principal)) throw without("tools:publish", "publish, disable or remove tools");
}

/** The same for what every caller then has. Secrets are the owner's. */
export function assertMayShare({ grants }: Principal, { secrets = {} }: Pick<UnitSpec, "secrets">): void {
  if (grants && !grants.sharesTools) throw without("tools:share", "share tools with everybody");
  if (grants && Object.keys(secrets).length > 0 && !grants.sharesToolSecrets)
    throw without("tools:share-secrets", "share tools that use its secrets");
}

function without(scope: string, what: string): BelljarError {
  return new BelljarError("FORBIDDEN", `This caller may not ${what}: use a token with the scope ${scope}`);
}
