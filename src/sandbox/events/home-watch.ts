import { mapLimit } from "../../async/map-limit.ts";
import { mayBeInTheMaking } from "../creator.ts";
import type { Journal, JournalEntry } from "../journal.ts";
import type { Belonging } from "../reach.ts";
import type { SandboxRecord } from "../sandbox-record.ts";
import type { SandboxEvent } from "../wire/event-schema.ts";

/** How many folders are read at once. */
const PARALLEL = 16;
/**
 * The kernel drops notes that do not fit into its queue (16,384 by default), and Node does not report that. After this many notes without
 * a pause, the home is listed again, as if notes had been lost.
 */
const BURST = 512;

export interface HomeWatchOptions {
  readonly journal: Journal;
  readonly report: (problem: string) => void;
  /** Resolves with true once the sandbox is made; from then on this process hears of its end. Never rejects. */
  readonly follow: (record: SandboxRecord) => Promise<boolean>;
  /** To those who may reach the sandbox. */
  readonly tell: (of: Belonging, event: SandboxEvent) => void;
  /** Events of any owner may have been lost. */
  readonly lost: (watch: HomeWatch) => void;
  /** The watch has ended by itself. */
  readonly failed: (cause: unknown) => void;
}

interface Known extends Belonging {
  /** False if the sandbox was in the making at the last look. */
  readonly isMade: boolean;
}

/**
 * One watch of a home's sandboxes, for all owners:
 *
 *     a note from the folder --> pending --> one look at a time --> created, changed or ended
 *            | too many without a pause
 *            +--> list the home again --> lost
 */
export class HomeWatch implements Disposable {
  readonly #options: HomeWatchOptions;
  readonly #watcher: { close(): void };
  /** The sandboxes that have not ended. */
  #known = new Map<string, Known>();
  readonly #pending = new Set<string>();
  #notes = 0;
  #isWorking = true;
  #isOver = false;
  /** Settles once the sandboxes that have not ended are known. */
  readonly ready: Promise<void>;

  /** Sees each change from now on. Throws `FILE_IO` if the folder cannot be watched. */
  constructor(options: HomeWatchOptions) {
    this.#options = options;
    this.#watcher = options.journal.watch({ changed: (id) => this.#note(id), failed: (cause) => this.#failed(cause) });
    this.ready = this.#list();
    this.ready.then(() => this.#work()).catch((cause: unknown) => this.#failed(cause));
  }

  /** The ids of the owner's sandboxes that have not ended. The young ones may be in the making. */
  idsOf(owner: string): { readonly made: readonly string[]; readonly young: readonly string[] } {
    const owned = [...this.#known].filter(([, known]) => known.owner === owner);
    const pick = (isMade: boolean) => owned.flatMap(([id, known]) => (known.isMade === isMade ? [id] : []));
    return { made: pick(true), young: pick(false) };
  }

  /** Says that a list shows the sandbox already, so that it is not told as created. */
  noteMade(id: string): void {
    const known = this.#known.get(id);
    if (known) this.#known.set(id, { ...known, isMade: true });
  }

  [Symbol.dispose](): void {
    this.#isOver = true;
    this.#watcher.close();
  }

  #note(id: string): void {
    if (this.#isOver) return;
    this.#pending.add(id);
    this.#notes += 1;
    if (!this.#isWorking) this.#work().catch((cause: unknown) => this.#failed(cause));
  }

  /** A closed watch has a successor perhaps, which goes on. */
  #failed(cause: unknown): void {
    if (!this.#isOver) this.#options.failed(cause);
  }

  async #work(): Promise<void> {
    this.#isWorking = true;
    while (!this.#isOver && this.#pending.size > 0) {
      if (this.#notes >= BURST) await this.#listAgain();
      else await this.#lookNext();
    }
    this.#notes = 0;
    this.#isWorking = false;
  }

  async #listAgain(): Promise<void> {
    this.#notes = 0;
    this.#pending.clear();
    await this.#list();
    if (!this.#isOver) this.#options.lost(this);
  }

  async #list(): Promise<void> {
    const { journal } = this.#options;
    const entries = await mapLimit(await journal.ids(), PARALLEL, (id) => this.#read(id));
    const live = entries.flatMap((entry) => (entry && !entry.end ? [entry.record] : []));
    const now = Date.now();
    const isMade = (record: SandboxRecord) => this.#known.get(record.id)?.isMade === true || !mayBeInTheMaking(record, now);
    this.#known = new Map(live.map((record) => [record.id, { ...belongingOf(record), isMade: isMade(record) }]));
  }

  async #lookNext(): Promise<void> {
    const [id = ""] = this.#pending;
    this.#pending.delete(id);
    const entry = await this.#read(id);
    if (this.#isOver) return;
    if (entry && !entry.end) this.#lives(entry.record);
    else this.#ended(id, entry);
  }

  #lives(record: SandboxRecord): void {
    const { id } = record;
    const known = this.#known.get(id) ?? { ...belongingOf(record), isMade: false };
    this.#known.set(id, known);
    if (known.isMade) this.#options.tell(known, { type: "changed", sandbox: id });
    void this.#options.follow(record).then((isMade) => isMade && this.#made(id));
  }

  /** Since it was looked at, another look may have told it, or it may have ended. */
  #made(id: string): void {
    const known = this.#known.get(id);
    if (this.#isOver || !known || known.isMade) return;
    this.#known.set(id, { ...known, isMade: true });
    this.#options.tell(known, { type: "created", sandbox: id });
  }

  #ended(id: string, entry: JournalEntry | undefined): void {
    const known = this.#known.get(id);
    this.#known.delete(id);
    if (!known) return;
    if (entry?.end) this.#options.tell(known, { type: "ended", sandbox: id, reason: entry.end.reason });
    else if (known.isMade) this.#options.tell(known, { type: "resync" }); // somebody removed the folder by hand
  }

  /**
   * A sandbox that cannot be read is reported and left out, as in a list. The journal remembers records, so the folder is looked for too:
   * somebody may have removed it.
   */
  async #read(id: string): Promise<JournalEntry | undefined> {
    const { journal } = this.#options;
    try {
      const entry = await journal.read(id);
      return entry?.end || (await journal.changedAt(id)) ? entry : undefined;
    } catch (cause) {
      this.#options.report(`Changes of sandbox ${id} are not seen: ${String(cause)}`);
      return undefined;
    }
  }
}

function belongingOf({ owner, project, defaultName, isHidden }: SandboxRecord): Belonging {
  return { owner, project, defaultName, isHidden };
}
