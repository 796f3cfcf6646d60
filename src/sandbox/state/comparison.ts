import { BelljarError } from "../../errors.ts";
import type { Texts } from "../../text/texts.ts";
import type { Comparison } from "./compare/requests.ts";

export type { Comparison } from "./compare/requests.ts";

/** Loads what compares with the first request: most processes never compare. Without `texts` everything is refused. */
export function lateComparison(texts: Texts | undefined): Comparison {
  const load = async (): Promise<Comparison> => {
    if (!texts)
      throw new BelljarError("NOT_SUPPORTED", "These sandboxes were opened without `texts`, which compare files: roll back as a whole");
    const { createComparison } = await import("./compare/create-comparison.ts");
    return createComparison(texts);
  };
  return {
    diff: async (request) => (await load()).diff(request),
    undo: async (request) => (await load()).undo(request),
    merge: async (request) => (await load()).merge(request),
  };
}
