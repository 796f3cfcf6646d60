import type { Limits } from "../runtime/contract/sandbox-spec.ts";
import type { KeptEntry } from "./keeping/kept-index.ts";
import type { KeptSandboxes } from "./keeping/kept-sandboxes.ts";
import type { HomeNetworks, NetworkLook } from "./network/home-networks.ts";
import type { KeptState } from "./network/network-files.ts";
import type { Runtimes } from "./runtimes.ts";
import { type ToldLife, toSandboxInfo } from "./sandbox-info.ts";
import type { SandboxRecord } from "./sandbox-record.ts";
import type { SandboxInfo } from "./sandbox.ts";

export interface InfosOptions {
  readonly runtimes: Pick<Runtimes, "of">;
  readonly networks: Pick<HomeNetworks, "look">;
  readonly kept: Pick<KeptSandboxes, "entries" | "facts">;
}

/** The folders of the home that tell of all sandboxes, each looked at once for many of them; and how those are that were looked at together. */
export interface InfoLook {
  readonly lives?: ReadonlyMap<string, ToldLife>;
  /** By the runtimes' names, the limits that they enforce here. */
  readonly enforced?: ReadonlyMap<string, readonly (keyof Limits)[]>;
  readonly networks: NetworkLook;
  readonly entries: ReadonlyMap<string, KeptEntry>;
}

/** What an info was made of, beside the record and the end. */
interface Made {
  readonly enforced: readonly (keyof Limits)[];
  readonly network: KeptState | undefined;
  readonly entry: KeptEntry | undefined;
  readonly info: SandboxInfo;
}

const NOTHING: readonly (keyof Limits)[] = [];

/** What is told of sandboxes. Of one that is stopped or has ended it is made once, until anything that it is made of has changed. */
export class Infos {
  readonly #options: InfosOptions;
  readonly #made = new WeakMap<ToldLife, Made>();
  readonly #bytes = new WeakMap<SandboxInfo, number>();

  constructor(options: InfosOptions) {
    this.#options = options;
  }

  look(): InfoLook {
    return { networks: this.#options.networks.look(), entries: this.#options.kept.entries() };
  }

  async of(record: SandboxRecord, life: ToldLife, { networks, entries }: InfoLook): Promise<SandboxInfo> {
    const enforced = (await this.#options.runtimes.of(record)?.probe())?.limits ?? NOTHING;
    const network = hasNetwork(life) ? await networks.read(record) : undefined;
    const entry = "reason" in life ? entries.get(record.id) : undefined;
    const made = this.#made.get(life);
    if (made && isCurrent(made, { enforced, entry, network })) return made.info;
    const kept = "reason" in life ? this.#options.kept.facts(life, entry) : {};
    const info = { ...toSandboxInfo(record, { life, enforced, ...(network && { network: network.state }) }), ...kept };
    if ("reason" in life) this.#made.set(life, { enforced, network, entry, info });
    return info;
  }

  /** The same at once, of one of many that were looked at together: undefined unless it was made before, and of what is known. */
  known(record: SandboxRecord, { lives, enforced: limits, networks, entries }: InfoLook): SandboxInfo | undefined {
    const life = lives?.get(record.id);
    const made = life && this.#made.get(life);
    if (!made) return undefined;
    const network = hasNetwork(life) ? networks.known(record) : undefined;
    if (hasNetwork(life) && !network) return undefined;
    const enforced = limits?.get(record.runtime) ?? NOTHING;
    return isCurrent(made, { enforced, entry: entries.get(record.id), network }) ? made.info : undefined;
  }

  /** How long it is as JSON. */
  bytesOf(info: SandboxInfo): number {
    const bytes = this.#bytes.get(info) ?? Buffer.byteLength(JSON.stringify(info));
    this.#bytes.set(info, bytes);
    return bytes;
  }
}

/** One that is gone for good has none. */
function hasNetwork(life: ToldLife): boolean {
  return !("reason" in life) || life.kept === true;
}

function isCurrent(made: Made, { enforced, entry, network }: Omit<Made, "info">): boolean {
  return made.enforced === enforced && made.entry === entry && isSame(made.network, network);
}

/** Number 0 is what the record says. */
function isSame(one: KeptState | undefined, other: KeptState | undefined): boolean {
  return one?.number === other?.number && (one?.number === 0 || one?.state === other?.state);
}
