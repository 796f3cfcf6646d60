import type { Caller } from "./caller.ts";
import { tellLoss, tellStop } from "./loss.ts";
import type { DefaultOptions, Principal, Sandbox, Sandboxes } from "../sandbox/sandbox.ts";

const REMEMBERED_MAX = 10_000;

/** What the composition says about one caller's default sandbox. */
export interface DefaultChoice {
  readonly name: string;
  readonly options: DefaultOptions;
}

export interface CallerSandboxesOptions {
  readonly sandboxes: Pick<Sandboxes, "default" | "get" | "getStarted" | "info">;
  readonly defaultSandbox: (principal: Principal, caller: Omit<Caller, "principal">) => DefaultChoice;
  readonly surroundings?: Surroundings;
}

/** What a model must know of the place where its sandbox's files and network end. */
export interface Surroundings {
  /** A line each, told with the first result of a default sandbox. */
  introduce(sandbox: Sandbox): Promise<readonly string[]>;
  /** Advice on a file that is not there; undefined if there is none to give. */
  findHostHint(sandbox: Sandbox, args: unknown, message: string): Promise<string | undefined>;
  /** The files outlive the sandbox: they are the machine's that the server runs in. */
  readonly keepsFiles?: true;
}

const FILES_STAND =
  "Note: all processes, servers, shells and code contexts that were started earlier have ended. The files of this machine are as they were.";

/** A caller's sandbox, with what the model must know before the result. Each client is told once. */
export interface ResolvedSandbox {
  readonly sandbox: Sandbox;
  readonly notices: readonly string[];
}

/** Resolves callers' sandboxes. Knows when a default one that a caller used before is gone, and when one was started again. */
export class CallerSandboxes {
  readonly #options: CallerSandboxesOptions;
  /** By client, owner and name the id of the last default one that was used here. */
  readonly #used = new Remembered<string>();
  /** By client, owner and id the run that was used last. */
  readonly #runs = new Remembered<number>();

  constructor(options: CallerSandboxesOptions) {
    this.#options = options;
  }

  async resolve(principal: Principal, caller: Omit<Caller, "principal">, signal: AbortSignal): Promise<ResolvedSandbox> {
    const { sandboxes, defaultSandbox, surroundings } = this.#options;
    const { name, options } = defaultSandbox(principal, caller);
    const { sandbox, started, earlier, unmet = [] } = await sandboxes.default(principal, name, options, signal);
    const restart = await this.#tellRestart(sandbox, keyOf(principal, caller), started);
    const used = this.#used.replace(`${keyOf(principal, caller)}${name}`, sandbox.id);
    if (used === sandbox.id) return { sandbox, notices: restart };
    const [lost, introduction] = await Promise.all([this.#tellLoss(principal, used ?? earlier), surroundings?.introduce(sandbox) ?? []]);
    return { sandbox, notices: [...restart, ...lost, ...unmet.map((text) => `Note: ${text}`), ...introduction] };
  }

  /** The one that the caller names. If it is stopped, it is started again. */
  async find(
    principal: Principal,
    id: string,
    caller: Omit<Caller, "principal"> & { readonly signal: AbortSignal },
  ): Promise<ResolvedSandbox> {
    const { sandbox, stopped } = await this.#options.sandboxes.getStarted(principal, id, caller.signal);
    return { sandbox, notices: await this.#tellRestart(sandbox, keyOf(principal, caller), stopped !== undefined) };
  }

  /** Also tells a client that used an earlier run, if another one has started it again meanwhile. */
  async #tellRestart(sandbox: Sandbox, key: string, isStartedNow = false): Promise<readonly string[]> {
    const { id, generation } = sandbox;
    if (generation === undefined) return [];
    const used = this.#runs.replace(`${key}${id}`, generation);
    if (used === generation || (used === undefined && !isStartedNow)) return [];
    const stop = await sandbox.lastStop?.();
    return stop ? [tellStop(stop)] : [];
  }

  async #tellLoss(principal: Principal, id: string | undefined): Promise<readonly string[]> {
    if (id === undefined) return [];
    if (this.#options.surroundings?.keepsFiles) return [FILES_STAND];
    // Its tombstone may be forgotten by now.
    return [tellLoss(await this.#options.sandboxes.info(principal, id).catch(() => undefined))];
  }
}

function keyOf({ id }: Principal, { client }: Omit<Caller, "principal">): string {
  return `${client?.id ?? ""}\0${id}\0`;
}

/** The latest values alone. */
class Remembered<Value> {
  readonly #values = new Map<string, Value>();

  /** Returns the value before. */
  replace(key: string, value: Value): Value | undefined {
    const before = this.#values.get(key);
    this.#values.delete(key);
    this.#values.set(key, value);
    for (const oldest of this.#values.keys()) {
      if (this.#values.size <= REMEMBERED_MAX) break;
      this.#values.delete(oldest);
    }
    return before;
  }
}
