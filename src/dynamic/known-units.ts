import { mapLimit } from "../async/map-limit.ts";
import { TurnsByKey } from "../async/turns-by-key.ts";
import type { JsonSchemas } from "../catalog/json-schemas.ts";
import { BelljarError } from "../errors.ts";
import type { Principal } from "../sandbox/sandbox.ts";
import type { LiveUnits } from "./live-units.ts";
import type { UnitId, UnitStore } from "./store/unit-store.ts";
import type { UnitHead, UnitVersion } from "./unit.ts";
import { keyOf } from "./unit-key.ts";

/** How many units are read together when a store is opened. */
const PARALLEL = 32;

export interface KnownUnitsOptions {
  readonly store: UnitStore;
  readonly live: LiveUnits;
  /** Called with the first live unit: most homes have none. */
  readonly schemas: () => Promise<JsonSchemas>;
  /** Called with what a head was before it changed or went. */
  readonly changed: (before: UnitHead | undefined) => void;
  readonly report: (problem: string) => void;
}

export interface UnitChange {
  /** The version that it adds. */
  readonly added?: UnitVersion;
  /** Throws if it must not be. */
  readonly check?: () => void;
}

/** The heads of a store as this process knows them, and of the live ones what callers have. It follows what other processes change. */
export class KnownUnits implements AsyncDisposable {
  readonly #options: KnownUnitsOptions;
  readonly #heads = new Map<string, UnitHead>();
  readonly #takes = new TurnsByKey();
  readonly #unwatch: () => void;
  #reading: Promise<unknown> = Promise.resolve();

  constructor(options: KnownUnitsOptions) {
    this.#options = options;
    const { store, report } = options;
    this.#unwatch = store.onChange((changed) => {
      this.#reading = this.#reading
        .then(() => (changed ? this.#reread(changed) : this.readAll()))
        .catch((cause: unknown) => report(`Users' tools cannot be read again: ${String(cause)}`));
    });
  }

  heads(): Iterable<UnitHead> {
    return this.#heads.values();
  }

  of({ id }: Principal): readonly UnitHead[] {
    return [...this.#heads.values()].filter(({ owner }) => owner === id);
  }

  get(unit: UnitId): UnitHead | undefined {
    return this.#heads.get(keyOf(unit));
  }

  /** Throws `TOOL_NOT_FOUND`. */
  find({ id: owner }: Principal, name: string): UnitHead {
    const head = this.get({ owner, name });
    if (head) return head;
    throw new BelljarError("TOOL_NOT_FOUND", `You have no tool "${name.slice(0, 100)}": list yours to see which there are`);
  }

  /** Rejects with `TOOL_NOT_FOUND`. */
  async version({ owner, name }: UnitId, number: number): Promise<UnitVersion> {
    const version = await this.#options.store.version(owner, name, number);
    if (version) return version;
    throw new BelljarError("TOOL_NOT_FOUND", `"${name}" has no version ${number}: see its versions`);
  }

  /**
   * Writes what a head becomes. If there is a `check`, no process changes units of the owner meanwhile with a check of its own, and it finds
   * what they have changed before. Rejects with what it throws, and then nothing is written.
   */
  change(changed: UnitHead, { added, check }: UnitChange = {}): Promise<UnitHead> {
    if (!check) return this.#write(changed, added);
    return this.#options.store.alone(changed.owner, async () => {
      await this.readAll();
      check();
      return this.#write(changed, added);
    });
  }

  async #write(changed: UnitHead, added: UnitVersion | undefined): Promise<UnitHead> {
    const head = { ...changed, revision: changed.revision + 1 };
    await this.#options.store.write(head, changed.revision, added);
    await this.#take(head);
    return head;
  }

  async remove(head: UnitHead): Promise<void> {
    await this.#options.store.remove(head.owner, head.name, head.revision);
    this.#forget(head);
  }

  async readAll(): Promise<void> {
    const heads = await this.#options.store.heads();
    const present = new Set(heads.map(keyOf));
    for (const [key, head] of this.#heads) if (!present.has(key)) this.#forget(head);
    await mapLimit(heads, PARALLEL, (head) => this.#take(head));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#unwatch();
    await this.#reading;
  }

  async #reread(unit: UnitId): Promise<void> {
    const head = await this.#options.store.head(unit.owner, unit.name);
    const known = this.get(unit);
    if (head) await this.#take(head);
    else if (known) this.#forget(known);
  }

  /** Resolves once callers have it, though a watch may have told of the same head a moment before. */
  #take(head: UnitHead): Promise<void> {
    return this.#takes.run(keyOf(head), () => this.#takeNow(head));
  }

  /** What this process knows already is not read again. A version that cannot be read is left out, and the others are served. */
  async #takeNow(head: UnitHead): Promise<void> {
    const known = this.get(head);
    if (known && known.revision >= head.revision && isSameUnit(known, head)) return;
    this.#heads.set(keyOf(head), head);
    this.#options.changed(known);
    const version = await this.#liveVersion(head);
    const schemas = version && (await this.#options.schemas());
    if (this.get(head) === head) this.#options.live.set(head, version && schemas && { unit: { head, version }, schemas });
  }

  async #liveVersion({ owner, name, live, isDisabled }: UnitHead): Promise<UnitVersion | undefined> {
    if (live === undefined || isDisabled) return undefined;
    try {
      return await this.#options.store.version(owner, name, live);
    } catch (cause) {
      this.#options.report(`The tool "${name}" of ${owner} is left out: ${String(cause)}`);
      return undefined;
    }
  }

  #forget(head: UnitHead): void {
    this.#heads.delete(keyOf(head));
    this.#options.changed(head);
    this.#options.live.set(head, undefined);
  }
}

/** One that was removed and added again begins to count again. */
function isSameUnit({ versions: [one] }: UnitHead, { versions: [other] }: UnitHead): boolean {
  return one?.number !== other?.number || one?.createdAt.getTime() === other?.createdAt.getTime();
}
