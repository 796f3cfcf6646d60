import type { Caller } from "./caller.ts";
import { tellLoss } from "./loss.ts";
import type { DefaultOptions, Principal, Sandbox, Sandboxes } from "../sandbox/sandbox.ts";

const REMEMBERED_MAX = 10_000;

/** What the composition says about one caller's default sandbox. */
export interface DefaultChoice {
  readonly name: string;
  readonly options: DefaultOptions;
}

export interface CallerSandboxesOptions {
  readonly sandboxes: Pick<Sandboxes, "default" | "info">;
  readonly defaultSandbox: (principal: Principal, caller: Omit<Caller, "principal">) => DefaultChoice;
  readonly surroundings?: Surroundings;
}

/** What a model must know of the place where its sandbox's files and network end. */
export interface Surroundings {
  /** A line each, told with the first result of a default sandbox. */
  introduce(sandbox: Sandbox): Promise<readonly string[]>;
  /** Advice on a file that is not there; undefined if there is none to give. */
  findHostHint(sandbox: Sandbox, args: unknown, message: string): Promise<string | undefined>;
}

/** Resolves callers' default sandboxes, and knows when one that a caller used before is gone. */
export class CallerSandboxes {
  readonly #options: CallerSandboxesOptions;
  /** By client, owner and name the id of the last one that was used here, oldest first. */
  readonly #used = new Map<string, string>();

  constructor(options: CallerSandboxesOptions) {
    this.#options = options;
  }

  /** `notices`: what the model must know before the result. Each client is told once of each sandbox. */
  async resolve(
    principal: Principal,
    caller: Omit<Caller, "principal">,
    signal: AbortSignal,
  ): Promise<{ readonly sandbox: Sandbox; readonly notices: readonly string[] }> {
    const { sandboxes, defaultSandbox, surroundings } = this.#options;
    const { name, options } = defaultSandbox(principal, caller);
    const { sandbox, earlier, unmet = [] } = await sandboxes.default(principal, name, options, signal);
    const used = this.#remember(`${caller.client?.id ?? ""}\0${principal.id}\0${name}`, sandbox.id);
    if (used === sandbox.id) return { sandbox, notices: [] };
    const [lost, introduction] = await Promise.all([this.#tellLoss(principal, used ?? earlier), surroundings?.introduce(sandbox) ?? []]);
    return { sandbox, notices: [...lost, ...unmet.map((text) => `Note: ${text}`), ...introduction] };
  }

  async #tellLoss(principal: Principal, id: string | undefined): Promise<readonly string[]> {
    if (id === undefined) return [];
    // Its tombstone may be forgotten by now.
    return [tellLoss(await this.#options.sandboxes.info(principal, id).catch(() => undefined))];
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
