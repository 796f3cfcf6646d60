import { BelljarError } from "../../errors.ts";
import type { CreateOptions } from "../../sandbox/sandbox.ts";
import type { LocalSandboxes } from "../../sandbox/local-sandboxes-options.ts";

type Limits = NonNullable<CreateOptions["limits"]>;

/** Rejects with `LIMIT_UNENFORCEABLE` for a limit with which this host would refuse every call of the tool. */
export async function assertToolLimits(sandboxes: Pick<LocalSandboxes, "isolation">, limits: Limits): Promise<void> {
  const enforced: readonly string[] = (await sandboxes.isolation()).limits;
  const missing = Object.keys(limits).filter((name) => !enforced.includes(name));
  if (missing.length === 0) return;
  const advice = "leave it out (`tool update --clear limits` clears all); `belljar doctor` tells what would make it possible";
  throw new BelljarError(
    "LIMIT_UNENFORCEABLE",
    `This host cannot enforce ${missing.join(", ")}, so that every call of the tool would fail: ${advice}`,
  );
}
