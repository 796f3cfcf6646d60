import { mapLimit } from "../async/map-limit.ts";
import { TurnsByKey } from "../async/turns-by-key.ts";
import { reportOnce } from "./store/report-once.ts";
import type { JsonSchemas } from "../catalog/json-schemas.ts";
import { BelljarError } from "../errors.ts";
import type { Principal } from "../sandbox/sandbox.ts";
import type { LiveUnits } from "./live-units.ts";
import type { UnitId, UnitStore } from "./store/unit-store.ts";
import { type ShownVersion, shownVersion } from "./unit-info.ts";
import { keyOf } from "./unit-key.ts";
import type { UnitHead, UnitVersion } from "./unit.ts";

/** How many units are read together when a store is opened. */
const PARALLEL = 32;

export interface KnownUnitsOptions {
  readonly store: UnitStore;
  readonly live: Pick<LiveUnits, "set">;
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
  /** Of the wait for others who change units of the owner. */
  readonly signal?: AbortSignal;
}

interface KnownUnit {
  readonly head: UnitHead;
  /** Absent: its version is damaged. */
  readonly shown?: ShownVersion | undefined;
  /** The version that is live, also while the unit is disabled. */
  readonly live?: UnitVersion | undefined;
}

/**
 * The heads of a store as this process knows them, what lists show, and of the live ones what callers have. It follows what other processes
 * change. As long as the store cannot be reached, it answers with what it has.
 */
export class KnownUnits implements AsyncDisposable {
  readonly #options: KnownUnitsOptions;
  readonly #report: (problem: string) => void;
  readonly #units = new Map<string, KnownUnit>();
  readonly #turns = new TurnsByKey();
  /** Of each reading of all units that goes on: what was learnt since it began. */
  readonly #readings = new Set<Set<string>>();
  readonly #unwatch: () => void;
  #reading: Promise<unknown> = Promise.resolve();

  constructor(options: KnownUnitsOptions) {
    this.#options = options;
    this.#report = reportOnce(options.report);
    const { store, report } = options;
    this.#unwatch = store.onChange((changed) => {
      this.#reading = this.#reading
        .then(() => (changed ? this.#reread(changed) : this.readAll()))
        .catch((cause: unknown) => report(`Users' tools cannot be read again: ${String(cause)}`));
    });
  }

  *heads(): Iterable<UnitHead> {
    for (const { head } of this.#units.values()) yield head;
  }

  of({ id }: Principal): readonly UnitHead[] {
    return [...this.heads()].filter(({ owner }) => owner === id);
  }

  get(unit: UnitId): UnitHead | undefined {
    return this.#units.get(keyOf(unit))?.head;
  }

  /** What a list shows of the unit. Undefined if its version is damaged. */
  shown(head: UnitHead): ShownVersion | undefined {
    const { shown } = this.#units.get(keyOf(head)) ?? {};
    return shown?.number === shownVersion(head) ? shown : undefined;
  }

  /** Throws `TOOL_NOT_FOUND`. */
  find({ id: owner }: Principal, name: string): UnitHead {
    const head = this.get({ owner, name });
    if (head) return head;
    throw new BelljarError("TOOL_NOT_FOUND", `You have no tool "${name.slice(0, 100)}": list yours to see which there are`);
  }

  /** Rejects with `TOOL_NOT_FOUND`. */
  async version({ owner, name }: UnitId, number: number): Promise<UnitVersion> {
    const { live } = this.#units.get(keyOf({ owner, name })) ?? {};
    const version = live?.number === number ? live : await this.#options.store.version(owner, name, number);
    if (version) return version;
    throw new BelljarError("TOOL_NOT_FOUND", `"${name}" has no version ${number}: see its versions`);
  }

  /**
   * Writes what a head becomes. If there is a `check`, no process changes units of the owner meanwhile with a check of its own, and it finds
   * what they have changed before. Rejects with what it throws, and then nothing is written.
   */
  change(changed: UnitHead, { added, check, signal }: UnitChange = {}): Promise<UnitHead> {
    if (!check) return this.#write(changed, added);
    const work = async (): Promise<UnitHead> => {
      await this.readAll();
      check();
      return this.#write(changed, added);
    };
    return this.#options.store.alone(changed.owner, work, signal);
  }

  async #write(changed: UnitHead, added: UnitVersion | undefined): Promise<UnitHead> {
    const head = { ...changed, revision: changed.revision + 1 };
    await this.#options.store.write(head, changed.revision, added);
    await this.#learn(head, () => this.#takeWritten(head, added));
    return head;
  }

  /** What another process has made of it meanwhile may be known already. */
  async #takeWritten(head: UnitHead, added: UnitVersion | undefined): Promise<void> {
    const known = this.get(head);
    if ((known?.revision ?? 0) === head.revision - 1) return this.#takeNow(head, added);
    const stored = await this.#options.store.head(head.owner, head.name);
    if (stored) await this.#takeNow(stored, added);
    else if (known) this.#forgetNow(known);
  }

  async remove(head: UnitHead): Promise<void> {
    await this.#options.store.remove(head.owner, head.name, head.revision);
    await this.#learn(head, async () => this.#forgetNow(head));
  }

  /** What is learnt of a unit while the store answers is newer than its answer. */
  async readAll(): Promise<void> {
    const learnt = new Set<string>();
    this.#readings.add(learnt);
    try {
      const heads = await this.#options.store.heads();
      const present = new Set(heads.map(keyOf));
      const gone = [...this.heads()].filter((head) => !present.has(keyOf(head)));
      const unless = (head: UnitHead, work: () => Promise<void>): Promise<void> =>
        this.#turns.run(keyOf(head), async () => (learnt.has(keyOf(head)) ? undefined : work()));
      await Promise.all(gone.map((head) => unless(head, async () => this.#forgetNow(head))));
      await mapLimit(heads, PARALLEL, (head) => unless(head, () => this.#takeNow(head, undefined)));
    } finally {
      this.#readings.delete(learnt);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#unwatch();
    await this.#reading;
  }

  #reread(unit: UnitId): Promise<void> {
    return this.#learn(unit, async () => {
      const head = await this.#options.store.head(unit.owner, unit.name);
      const known = this.get(unit);
      if (head) await this.#takeNow(head, undefined);
      else if (known) this.#forgetNow(known);
    });
  }

  #learn(unit: UnitId, work: () => Promise<void>): Promise<void> {
    const key = keyOf(unit);
    return this.#turns.run(key, async () => {
      for (const learnt of this.#readings) learnt.add(key);
      await work();
    });
  }

  /**
   * A head as the store has just had it, also an older one: the store may be a copy that was put back. What this process knows already is
   * not read again. If the store cannot be reached, callers keep what they have.
   */
  async #takeNow(head: UnitHead, added: UnitVersion | undefined): Promise<void> {
    const known = this.#units.get(keyOf(head));
    if (known?.shown && isSameHead(known.head, head)) return;
    const version = await this.#shownVersion(head, [added, known?.live]);
    const isLive = head.live !== undefined;
    const schemas = version && isLive && !head.isDisabled ? await this.#options.schemas() : undefined;
    this.#units.set(keyOf(head), { head, shown: version && toShown(version), live: isLive ? version : undefined });
    this.#options.changed(known?.head);
    this.#options.live.set(head, version && schemas && { unit: { head, version }, schemas });
  }

  /** A version that cannot be read is left out, and the others are served. */
  async #shownVersion(head: UnitHead, known: readonly (UnitVersion | undefined)[]): Promise<UnitVersion | undefined> {
    const number = shownVersion(head);
    const createdAt = head.versions.find((one) => one.number === number)?.createdAt.getTime();
    const found = known.find((one) => one?.number === number && one.createdAt.getTime() === createdAt);
    if (found) return found;
    try {
      const version = await this.#options.store.version(head.owner, head.name, number);
      if (!version) this.#report(`The tool "${head.name}" of ${head.owner} is left out: its version ${number} cannot be read`);
      return version;
    } catch (cause) {
      if (cause instanceof BelljarError && cause.code === "TOOL_STORE_UNAVAILABLE") throw cause;
      this.#report(`The tool "${head.name}" of ${head.owner} is left out: ${String(cause)}`);
      return undefined;
    }
  }

  #forgetNow(head: UnitHead): void {
    this.#units.delete(keyOf(head));
    this.#options.changed(head);
    this.#options.live.set(head, undefined);
  }
}

/** Not the code: of thousands of drafts that would be too much to keep. */
function toShown({ number, createdAt, tools, spec: { language } }: UnitVersion): ShownVersion {
  return { number, createdAt, tools, spec: { language } };
}

function isSameHead(one: UnitHead, other: UnitHead): boolean {
  const newest = ({ versions }: UnitHead) => versions.at(-1);
  return (
    one.revision === other.revision &&
    one.live === other.live &&
    one.isDisabled === other.isDisabled &&
    one.isShared === other.isShared &&
    newest(one)?.number === newest(other)?.number &&
    newest(one)?.createdAt.getTime() === newest(other)?.createdAt.getTime()
  );
}
