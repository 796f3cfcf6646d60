import type { TestContext } from "vitest";
import { it } from "vitest";
import type { GuaranteeId } from "./guarantees.ts";
import { GUARANTEES } from "./guarantees.ts";

/** A test of one guarantee. It first shows the attack outside a sandbox, or skips and says why it cannot, then the denial inside. */
export function verifies(id: GuaranteeId, attack: (context: TestContext) => Promise<void>, timeoutMs?: number): void {
  it(`${id}: ${GUARANTEES[id]}`, attack, timeoutMs);
}
