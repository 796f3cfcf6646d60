import type { Sandbox } from "../sandbox/sandbox.ts";
import type { Tool } from "./tool.ts";

/** The checkpoints before one call: one in each sandbox that it uses, before it gets the sandbox. */
export class CallCheckpoints {
  readonly #tool: Pick<Tool, "name" | "annotations" | "origin">;
  readonly #signal: AbortSignal;
  readonly #taken = new Map<string, Promise<string | undefined>>();

  constructor(tool: Pick<Tool, "name" | "annotations" | "origin">, signal: AbortSignal) {
    this.#tool = tool;
    this.#signal = signal;
  }

  /** Resolves with a sentence for the model, the first time, if none could be taken. Rejects only when the signal aborts. */
  async before({ id, timeLine }: Sandbox): Promise<string | undefined> {
    if (!mayWrite(this.#tool)) return undefined;
    const earlier = this.#taken.get(id);
    if (earlier) return void (await earlier);
    const taken = timeLine.beforeCall?.(this.#tool.name, this.#signal) ?? Promise.resolve(undefined);
    this.#taken.set(id, taken);
    return taken;
  }
}

/** Only Belljar's own tools are believed that they write nothing. */
export function mayWrite({ annotations, origin }: Pick<Tool, "annotations" | "origin">): boolean {
  return origin !== undefined || !annotations.readOnlyHint;
}
