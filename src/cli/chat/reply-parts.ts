import { BelljarError } from "../../errors.ts";
import type { ModelCall } from "./model.ts";

const CALLS_MAX = 128;

/** The calls of a reply that come in pieces. */
export class ReplyCalls {
  readonly #calls = new Map<number, { id: string; name: string; argumentsText: string }>();

  /** Adds a piece to the call at this place. */
  add(index: number, { id = "", name = "", argumentsText = "" }: Partial<ModelCall>): void {
    const known = this.#calls.get(index);
    if (!known && this.#calls.size >= CALLS_MAX)
      throw new BelljarError("SERVER_INCOMPATIBLE", `The model wants over ${CALLS_MAX} calls at once`);
    const call = known ?? { id: "", name: "", argumentsText: "" };
    call.id ||= id;
    call.name ||= name;
    call.argumentsText += argumentsText;
    this.#calls.set(index, call);
  }

  /** In the order of their places. A call without an id gets one, since its result must name it. */
  all(): readonly ModelCall[] {
    const sorted = [...this.#calls.entries()].toSorted(([one], [other]) => one - other);
    return sorted.map(([index, call]) => ({ ...call, id: call.id || `call_${index}` }));
  }
}

export function numberOr0(value: unknown): number {
  return typeof value === "number" && Number.isFinite(value) && value >= 0 ? value : 0;
}
