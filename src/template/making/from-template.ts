import { needStates } from "../../sandbox/state/state-errors.ts";
import { templateUser } from "../../sandbox/template-source.ts";
import type { TemplateRecord } from "../template-record.ts";
import type { Making, MakingParts, Wish } from "./making.ts";
import { whileHolding } from "./while-holding.ts";

/** One more name of a template: all that it has, in the same layers. */
export function fromTemplate({ runtimes }: MakingParts, wish: Wish, record: TemplateRecord): Promise<Making> {
  const user = templateUser(wish);
  const states = needStates(runtimes.need(record));
  return whileHolding(states, user, async (held) => {
    const { version: _, id, name: __, owner: ___, createdAt: ____, description: _____, limits: ______, copyOf = id, ...made } = record;
    const all = [...new Set([...made.layers, ...(made.parts ?? [])])];
    held(all);
    await states.hold(all, user);
    return { ...made, copyOf };
  });
}
