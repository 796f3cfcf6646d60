import type { ConnectionRecord } from "./connection-record.ts";
import { toAuthority } from "./host-name.ts";

/** Connections to one place that were refused for one reason. */
export interface RefusedPlace {
  /** `host:port`, or a name that was looked up. Any text: a program inside chose it. Empty if no place was named. */
  readonly place: string;
  readonly reason: string;
  /** The rule that would have allowed it, if one can. */
  readonly missingRule: string | undefined;
  readonly count: number;
}

export interface Refusals {
  /** The first places that were refused. */
  readonly places: readonly RefusedPlace[];
  /** Number of connections to other places. */
  readonly others: number;
}

/** Collects the refusals of one sandbox from its opening until it is disposed. */
export interface RefusalWindow extends Disposable {
  /** All since it was opened, after those that came while no window was open and that no window has taken yet. */
  take(): Refusals;
}

/** Places that one window tells apart. A program may try any number of them. */
const PLACES_MAX = 5;
/** Sandboxes of which refusals are kept that came while nobody looked. */
const SANDBOXES_MAX = 1_000;

/** The refusals that this process made lately, for whoever looks at a sandbox. Its size does not depend on what programs do. */
export class RefusalLog {
  readonly #open = new Map<string, Set<Tally>>();
  /** Those that came while no window of the sandbox was open. The oldest sandbox goes first. */
  readonly #unseen = new Map<string, Tally>();

  note(record: ConnectionRecord): void {
    if (record.verdict !== "refused") return;
    const open = this.#open.get(record.sandbox);
    if (open) for (const tally of open) tally.add(record);
    else this.#tallyUnseen(record.sandbox).add(record);
  }

  open(sandbox: string): RefusalWindow {
    const tally = new Tally();
    const open = this.#open.get(sandbox) ?? new Set();
    this.#open.set(sandbox, open.add(tally));
    return {
      take: () => {
        const unseen = this.#unseen.get(sandbox);
        this.#unseen.delete(sandbox);
        return tally.after(unseen);
      },
      [Symbol.dispose]: () => {
        open.delete(tally);
        if (open.size === 0 && this.#open.get(sandbox) === open) this.#open.delete(sandbox);
      },
    };
  }

  forget(sandbox: string): void {
    this.#unseen.delete(sandbox);
  }

  #tallyUnseen(sandbox: string): Tally {
    const known = this.#unseen.get(sandbox);
    if (known) return known;
    const [oldest] = this.#unseen.keys();
    if (this.#unseen.size >= SANDBOXES_MAX && oldest !== undefined) this.#unseen.delete(oldest);
    const tally = new Tally();
    this.#unseen.set(sandbox, tally);
    return tally;
  }
}

class Tally {
  readonly #places = new Map<string, RefusedPlace>();
  #others = 0;

  add(record: ConnectionRecord): void {
    this.#count({ place: placeOf(record), reason: record.reason ?? "", missingRule: record.missingRule, count: 1 });
  }

  after(earlier: Tally | undefined): Refusals {
    const both = new Tally();
    for (const tally of earlier ? [earlier, this] : [this]) {
      for (const place of tally.#places.values()) both.#count(place);
      both.#others += tally.#others;
    }
    return { places: [...both.#places.values()], others: both.#others };
  }

  #count(one: RefusedPlace): void {
    const key = JSON.stringify([one.place, one.reason, one.missingRule]);
    const known = this.#places.get(key);
    if (known) this.#places.set(key, { ...known, count: known.count + one.count });
    else if (this.#places.size < PLACES_MAX) this.#places.set(key, one);
    else this.#others += one.count;
  }
}

/** A looked-up name has no port. */
function placeOf({ via, host, port }: ConnectionRecord): string {
  return via === "dns" || host === "" ? host : toAuthority(host, port);
}
