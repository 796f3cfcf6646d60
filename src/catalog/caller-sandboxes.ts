import type { Caller } from "./caller.ts";
import type { CreateOptions, Principal, Sandbox, Sandboxes } from "../sandbox/sandbox.ts";

const REMEMBERED_MAX = 10_000;

/** What the composition says about one caller's default sandbox. */
export interface DefaultChoice {
  readonly name: string;
  readonly options: CreateOptions;
}

export interface CallerSandboxesOptions {
  readonly sandboxes: Pick<Sandboxes, "default">;
  readonly defaultSandbox: (principal: Principal, caller: Omit<Caller, "principal">) => DefaultChoice;
}

/** Resolves callers' default sandboxes, and knows when one that a caller used before is gone. */
export class CallerSandboxes {
  readonly #options: CallerSandboxesOptions;
  /** Owner and name of those used here, with the id, oldest first. */
  readonly #used = new Map<string, string>();

  constructor(options: CallerSandboxesOptions) {
    this.#options = options;
  }

  async resolve(
    principal: Principal,
    caller: Omit<Caller, "principal">,
    signal: AbortSignal,
  ): Promise<{ readonly sandbox: Sandbox; readonly notice?: string }> {
    const { sandboxes, defaultSandbox } = this.#options;
    const { name, options } = defaultSandbox(principal, caller);
    const { sandbox } = await sandboxes.default(principal, name, options, signal);
    const before = this.#remember(`${principal.id}\0${name}`, sandbox.id);
    if (before === undefined || before === sandbox.id) return { sandbox };
    return { sandbox, notice: "Note: the earlier sandbox has ended; this is a new one, without its files and processes." };
  }

  #remember(key: string, id: string): string | undefined {
    const before = this.#used.get(key);
    this.#used.delete(key);
    this.#used.set(key, id);
    for (const oldest of this.#used.keys()) {
      if (this.#used.size <= REMEMBERED_MAX) break;
      this.#used.delete(oldest);
    }
    return before;
  }
}
