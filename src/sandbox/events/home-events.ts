import { mapLimit } from "../../async/map-limit.ts";
import { BelljarError } from "../../errors.ts";
import type { Journal } from "../journal.ts";
import { type Belonging, mayReach } from "../reach.ts";
import type { SandboxRecord } from "../sandbox-record.ts";
import type { Principal } from "../sandbox.ts";
import type { SandboxEvent } from "../wire/event-schema.ts";
import { EventQueue } from "./event-queue.ts";
import { HomeWatch } from "./home-watch.ts";

/** The most readers of one owner at once. */
const READERS_MAX = 1_000;
const PARALLEL = 8;

export interface HomeEventsOptions {
  readonly journal: Journal;
  /** Holds the sandbox, so that this process hears of its end, and writes down an end that nobody has noticed. False while it is made. */
  readonly follow: (record: SandboxRecord) => Promise<boolean>;
  readonly report: (problem: string) => void;
}

interface Readers {
  readonly queues: Map<EventQueue, Principal>;
  /** Resolves once it is known which sandboxes a list shows. Its first reader begins it. */
  settled?: Promise<void>;
}

/**
 * The events of a home's sandboxes for their owners. All readers share one watch: the first reader opens it, the last one closes it.
 * This process holds the sandboxes of owners with a reader. An end that nobody asked for, as by a deadline, is written down by a process
 * that holds the sandbox; otherwise it would not be told.
 */
export class HomeEvents implements AsyncDisposable {
  readonly #options: HomeEventsOptions;
  readonly #readers = new Map<string, Readers>();
  readonly #following = new Set<Promise<boolean>>();
  #watch: HomeWatch | undefined;
  #isOver = false;
  #isFailing = false;

  constructor(options: HomeEventsOptions) {
    this.#options = options;
  }

  async *read(principal: Principal, signal: AbortSignal): AsyncGenerator<SandboxEvent, void, undefined> {
    if (this.#isOver || signal.aborted) return;
    const queue = new EventQueue();
    const owner = principal.id;
    const readers = this.#enter(principal, queue);
    try {
      const watch = await this.#ready();
      await (readers.settled ??= this.#followAll(watch, owner));
      yield* queue.read(signal);
    } finally {
      this.#leave(owner, queue);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isOver = true;
    this.#close();
    await Promise.all(this.#following);
  }

  async #ready(): Promise<HomeWatch> {
    try {
      const watch = (this.#watch ??= this.#open());
      await watch.ready;
      this.#isFailing = false;
      return watch;
    } catch (cause) {
      throw this.#problem(cause);
    }
  }

  #open(): HomeWatch {
    const { journal, report } = this.#options;
    return new HomeWatch({
      journal,
      report,
      follow: (record) => this.#follow(record),
      tell: (of, event) => this.#tell(of, event),
      lost: (watch) => void this.#lost(watch),
      failed: (cause) => this.#close(this.#problem(cause)),
    });
  }

  /** Reports the failure of the watch, once until a watch is ready again. */
  #problem(cause: unknown): BelljarError {
    const problem = new BelljarError("FILE_IO", `Changes of sandboxes cannot be followed: ${String(cause)}`, { cause });
    if (!this.#isFailing) this.#options.report(problem.message);
    this.#isFailing = true;
    return problem;
  }

  /** The readers list after the `resync`. So what the follows find made before it is not told as created. */
  async #lost(watch: HomeWatch): Promise<void> {
    await Promise.all([...this.#readers.keys()].map((owner) => this.#followAll(watch, owner)));
    for (const queue of this.#queues()) queue.push({ type: "resync" });
  }

  /** Follows the owner's sandboxes. Waits for the young ones alone: of the others it is known that they are made. */
  async #followAll(watch: HomeWatch, owner: string): Promise<void> {
    const { made, young } = watch.idsOf(owner);
    void mapLimit(made, PARALLEL, (id) => this.#followById(id));
    await mapLimit(young, PARALLEL, async (id) => {
      if (await this.#followById(id)) watch.noteMade(id);
    });
  }

  #tell(of: Belonging, event: SandboxEvent): void {
    for (const [queue, principal] of this.#readers.get(of.owner)?.queues ?? []) if (mayReach(principal, of)) queue.push(event);
  }

  #enter(principal: Principal, queue: EventQueue): Readers {
    const owner = principal.id;
    const readers = this.#readers.get(owner) ?? { queues: new Map() };
    if (readers.queues.size >= READERS_MAX)
      throw new BelljarError("QUOTA_EXCEEDED", `At most ${READERS_MAX} readers of events at once: close some of them first`);
    readers.queues.set(queue, principal);
    this.#readers.set(owner, readers);
    return readers;
  }

  #leave(owner: string, queue: EventQueue): void {
    const readers = this.#readers.get(owner);
    readers?.queues.delete(queue);
    if (readers?.queues.size === 0) this.#readers.delete(owner);
    if (this.#readers.size === 0) this.#close();
  }

  /** Ends all readers. The next reader opens a new watch. */
  #close(error?: Error): void {
    this.#watch?.[Symbol.dispose]();
    this.#watch = undefined;
    for (const queue of this.#queues()) queue.end(error);
    this.#readers.clear();
  }

  #queues(): readonly EventQueue[] {
    return [...this.#readers.values()].flatMap(({ queues }) => [...queues.keys()]);
  }

  #followById(id: string): Promise<boolean> {
    return this.#reported(async () => {
      const entry = await this.#options.journal.read(id);
      return entry !== undefined && !entry.end && this.#follow(entry.record);
    });
  }

  /** Sandboxes of owners without readers are not followed. */
  #follow(record: SandboxRecord): Promise<boolean> {
    if (this.#isOver || !this.#readers.has(record.owner)) return Promise.resolve(false);
    return this.#reported(() => this.#options.follow(record));
  }

  /** If a sandbox cannot be followed, its end is told when another process that holds it writes the end down. Disposal waits for the work. */
  #reported(work: () => Promise<boolean>): Promise<boolean> {
    const done = work()
      .catch((cause: unknown) => {
        if (!this.#isOver) this.#options.report(`The end of a sandbox may be told late: ${String(cause)}`);
        return false;
      })
      .finally(() => this.#following.delete(done));
    this.#following.add(done);
    return done;
  }
}
