import { BelljarError } from "../../errors.ts";
import type { Usage } from "../../runtime/runtime.ts";
import { mayBeInTheMaking } from "../creator.ts";
import { quotasOf } from "../grants.ts";
import type { Journal } from "../journal.ts";
import type { LiveSandboxes } from "../live-sandboxes.ts";
import { mapLimit } from "../../async/map-limit.ts";
import type { SandboxRecord } from "../sandbox-record.ts";
import type { Principal, Quotas } from "../sandbox.ts";
import type { CountedSandbox } from "./quota-refusal.ts";
import { cpuUsedUp, memoryUsedUp, sandboxesUsedUp } from "./quota-refusal.ts";
import { QuotaTickets } from "./quota-tickets.ts";

export interface LiveQuotaOptions {
  readonly home: string;
  readonly journal: Journal;
  readonly live: LiveSandboxes;
  /** For a principal whose token names none. */
  readonly standard?: Quotas;
}

interface Candidate {
  readonly id: string;
  readonly memoryBytes: number;
  /** Absent: it is in the making, and nobody knows more of it. */
  readonly record?: SandboxRecord;
}

const PARALLEL = 16;

/** What each principal's live sandboxes may be together, whichever process of the home made them. */
export class LiveQuota {
  readonly #options: LiveQuotaOptions;
  readonly #tickets: QuotaTickets;

  constructor(options: LiveQuotaOptions) {
    this.#options = options;
    this.#tickets = new QuotaTickets(options.home);
  }

  /**
   * Runs `make`, which makes the sandbox of the record, once there is room for it. Rejects with `QUOTA_EXCEEDED`.
   * Who has no quota is not counted, and costs nothing.
   */
  async admit<Made>(principal: Principal, record: SandboxRecord, make: () => Promise<Made>): Promise<Made> {
    const quotas = quotasOf(principal, this.#options.standard);
    if (quotas.sandboxes === undefined && quotas.memoryBytes === undefined && quotas.cpuSeconds === undefined) return make();
    const memoryBytes = record.limits.memoryBytes ?? 0;
    const number = await this.#tickets.take(record.owner, { ...record, memoryBytes });
    try {
      await this.#assertRoom(record, quotas, number);
      return await make();
    } catch (cause) {
      await this.#tickets.withdraw(record.owner, number);
      throw cause;
    }
  }

  /** First as if all lived of which no end is known; whoever would be refused for them has each one asked. */
  async #assertRoom(record: SandboxRecord, quotas: Quotas, number: number): Promise<void> {
    const candidates = await this.#candidates(record.owner, number);
    if (quotas.cpuSeconds === undefined && !findRefusal(record, quotas, candidates.map(unasked))) return;
    const lives = await mapLimit(candidates, PARALLEL, (candidate) => this.#ask(candidate));
    const live = lives.filter((life) => life !== undefined);
    const refusal = findRefusal(record, quotas, live);
    if (refusal) throw refusal;
  }

  /**
   * The owner's sandboxes that may live, but those that came later and count this one. Every maker takes its ticket before it writes
   * its record, so tickets are read after the records: a record without one was made for somebody without a quota.
   */
  async #candidates(owner: string, number: number): Promise<readonly Candidate[]> {
    const { journal } = this.#options;
    const entries = await mapLimit(await journal.ids(), PARALLEL, (id) => journal.read(id));
    const tickets = await this.#tickets.list(owner);
    const later = new Set(tickets.filter((ticket) => ticket.number >= number).map(({ id }) => id));
    const written = entries.flatMap((entry) => (entry && entry.record.owner === owner ? [entry] : []));
    const known = new Set(written.map(({ record }) => record.id));
    const living = written.filter(({ record, end }) => !end && !later.has(record.id)).map(({ record }) => toCandidate(record));
    const earlier = tickets.filter(({ id, number: other }) => other < number && !known.has(id));
    const making = await mapLimit(earlier, PARALLEL, async (ticket): Promise<Candidate | undefined> => {
      const entry = await journal.read(ticket.id);
      if (entry) return entry.end ? undefined : toCandidate(entry.record);
      return mayBeInTheMaking(ticket, Date.now()) ? ticket : undefined;
    });
    const found = [...living, ...making.filter((one) => one !== undefined)];
    const ids = new Set(found.map(({ id }) => id));
    await this.#tickets.forget(owner, ({ id }) => ids.has(id) || later.has(id));
    return found;
  }

  /** Undefined for one that has ended, whose end is written down now if nobody knew it. One that cannot be asked counts as living. */
  async #ask(candidate: Candidate): Promise<CountedSandbox | undefined> {
    const { record } = candidate;
    if (!record || !this.#options.live.isOurs(record)) return unasked(candidate);
    const life = await this.#options.live.findLife(record).catch(unlessForeseen);
    if (life === "unknown") return unasked(candidate);
    if (life === undefined) return mayBeInTheMaking(record, Date.now()) ? unasked(candidate) : undefined;
    if ("reason" in life) return undefined;
    return { ...unasked(candidate), ...("phase" in life && used(life)) };
  }
}

function findRefusal(record: SandboxRecord, quotas: Quotas, live: readonly CountedSandbox[]): BelljarError | undefined {
  return sandboxesUsedUp(quotas, live) ?? memoryUsedUp(quotas, live, record.limits.memoryBytes) ?? cpuUsedUp(quotas, live);
}

function unlessForeseen(cause: unknown): "unknown" {
  if (cause instanceof BelljarError) return "unknown";
  throw cause;
}

function toCandidate(record: SandboxRecord): Candidate {
  return { id: record.id, memoryBytes: record.limits.memoryBytes ?? 0, record };
}

function unasked({ memoryBytes, record }: Candidate): CountedSandbox {
  return { memoryBytes, cpuUs: 0, ...(record && { deadline: record.deadline }) };
}

function used({ cpuUs, deadline }: Usage): Pick<CountedSandbox, "cpuUs" | "deadline"> {
  return { cpuUs, ...(deadline && { deadline }) };
}
