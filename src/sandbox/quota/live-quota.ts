import { BelljarError } from "../../errors.ts";
import type { Usage } from "../../runtime/contract/run.ts";
import { CREATOR, mayBeInTheMaking } from "../creator.ts";
import { quotasOf } from "../grants.ts";
import type { Journal } from "../journal.ts";
import type { LiveSandboxes } from "../live-sandboxes.ts";
import { mapLimit } from "../../async/map-limit.ts";
import { mayBeStarting, type RunState } from "../run-states.ts";
import type { Life } from "../sandbox-info.ts";
import type { SandboxRecord } from "../sandbox-record.ts";
import type { Principal, Quotas } from "../sandbox.ts";
import type { CountedSandbox } from "./quota-refusal.ts";
import { cpuUsedUp, memoryUsedUp, sandboxesUsedUp, stoppedUsedUp } from "./quota-refusal.ts";
import { type QuotaTicket, QuotaTickets } from "./quota-tickets.ts";

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
  /** Its latest place in the line, if that is before the one that asks. */
  readonly ticket?: QuotaTicket;
}

/** Who asks for room. */
interface Asking {
  readonly principal: Principal;
  readonly record: SandboxRecord;
  /** It is made, and not started again. */
  readonly isNew: boolean;
}

const PARALLEL = 16;
/** The quotas that are counted here. */
const COUNTED = ["sandboxes", "stoppedSandboxes", "memoryBytes", "cpuSeconds"] as const satisfies readonly (keyof Quotas)[];

/** What each principal's sandboxes may be together, whichever process of the home made them. */
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
  admit<Made>(principal: Principal, record: SandboxRecord, make: () => Promise<Made>): Promise<Made> {
    return this.#inLine({ principal, record, isNew: true }, make);
  }

  /** The same for the next run of a stopped sandbox. From here on, later requests count it, although it is still stopped. */
  admitStart<Made>(principal: Principal, record: SandboxRecord, start: () => Promise<Made>): Promise<Made> {
    const placed = { ...record, creator: CREATOR, createdAt: new Date() };
    return this.#inLine({ principal, record: placed, isNew: false }, start);
  }

  async #inLine<Made>({ principal, record, isNew }: Asking, make: () => Promise<Made>): Promise<Made> {
    const { stoppedSandboxes, ...live } = quotasOf(principal, this.#options.standard);
    const quotas = { ...live, ...(isNew && stoppedSandboxes !== undefined && { stoppedSandboxes }) };
    if (COUNTED.every((name) => quotas[name] === undefined)) return make();
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
    const most = stoppedUsedUp(quotas, candidates.length) ?? findRefusal(record, quotas, candidates.map(unasked));
    if (quotas.cpuSeconds === undefined && !most) return;
    const lives = await mapLimit(candidates, PARALLEL, (candidate) => this.#ask(candidate));
    const live = lives.filter((life) => life !== undefined && life !== "stopped");
    const stopped = lives.filter((life) => life === "stopped");
    const refusal = stoppedUsedUp(quotas, stopped.length) ?? findRefusal(record, quotas, live);
    if (refusal) throw refusal;
  }

  /**
   * The owner's sandboxes that may live, but those that are made later and count this one. Every maker takes its ticket before it writes
   * its record, so tickets are read after the records: a record without one was made for somebody without a quota.
   */
  async #candidates(owner: string, number: number): Promise<readonly Candidate[]> {
    const { journal } = this.#options;
    const entries = await mapLimit(await journal.ids(), PARALLEL, (id) => journal.read(id));
    const tickets = await this.#tickets.list(owner);
    const later = tickets.filter((ticket) => ticket.number >= number);
    const made = new Set(later.map(toMaking));
    const own = later.find((ticket) => ticket.number === number)?.id;
    const written = entries.flatMap((entry) => (entry && entry.record.owner === owner ? [entry] : []));
    const known = new Set(written.map(({ record }) => record.id));
    const earlier = tickets.filter((ticket) => ticket.number < number).toSorted((one, other) => one.number - other.number);
    const ticketOf = new Map(earlier.map((ticket) => [ticket.id, ticket]));
    const living = written
      .filter(({ record, end }) => !end && record.id !== own && !made.has(toMaking(record)))
      .map(({ record }) => toCandidate(record, ticketOf.get(record.id)));
    const unwritten = earlier.filter(({ id }) => !known.has(id));
    const making = await mapLimit(unwritten, PARALLEL, async (ticket): Promise<Candidate | undefined> => {
      const entry = await journal.read(ticket.id);
      if (entry) return entry.end ? undefined : toCandidate(entry.record, ticket);
      return mayBeInTheMaking(ticket, Date.now()) ? ticket : undefined;
    });
    const found = [...living, ...making.filter((one) => one !== undefined)];
    const ids = new Set([...found, ...later].map(({ id }) => id));
    await this.#tickets.forget(owner, ({ id }) => ids.has(id));
    return found;
  }

  /** Undefined for one that has ended, whose end is written down now if nobody knew it. One that cannot be asked counts as living. */
  async #ask(candidate: Candidate): Promise<CountedSandbox | "stopped" | undefined> {
    const { record } = candidate;
    if (!record) return unasked(candidate);
    if (!this.#options.live.isOurs(record)) return { ...unasked(candidate), missingRuntime: record.runtime };
    const life = await this.#findLife(record, candidate.ticket).catch(unlessForeseen);
    if (life === "unknown" || life === "starting") return unasked(candidate);
    if (life === undefined) return mayBeStarting(await this.#options.live.states.read(record)) ? unasked(candidate) : undefined;
    if ("reason" in life) return life.kept ? "stopped" : undefined;
    return { ...unasked(candidate), ...("phase" in life && used(life)) };
  }

  /** A ticket that is newer than the last run belongs to a start in progress. The state is read first, so that no start is missed. */
  async #findLife(record: SandboxRecord, ticket: QuotaTicket | undefined): Promise<Life | "starting" | undefined> {
    const { live } = this.#options;
    if (ticket && isStarting(ticket, await live.states.read(record))) return "starting";
    return live.findLife(record);
  }
}

/** Tells a ticket that a sandbox was made with from one that it is started with. */
function toMaking({ id, createdAt }: Pick<QuotaTicket, "id" | "createdAt">): string {
  return `${id} ${createdAt.getTime()}`;
}

function isStarting(ticket: QuotaTicket, { startedAt }: RunState): boolean {
  return ticket.createdAt > startedAt && mayBeInTheMaking(ticket, Date.now());
}

function findRefusal(record: SandboxRecord, quotas: Quotas, live: readonly CountedSandbox[]): BelljarError | undefined {
  return sandboxesUsedUp(quotas, live) ?? memoryUsedUp(quotas, live, record.limits.memoryBytes) ?? cpuUsedUp(quotas, live);
}

function unlessForeseen(cause: unknown): "unknown" {
  if (cause instanceof BelljarError) return "unknown";
  throw cause;
}

function toCandidate(record: SandboxRecord, ticket: QuotaTicket | undefined): Candidate {
  return { id: record.id, memoryBytes: record.limits.memoryBytes ?? 0, record, ...(ticket && { ticket }) };
}

function unasked({ memoryBytes, record }: Candidate): CountedSandbox {
  return { memoryBytes, cpuUs: 0, ...(record && { deadline: record.deadline }) };
}

function used({ cpuUs, deadline }: Usage): Pick<CountedSandbox, "cpuUs" | "deadline"> {
  return { cpuUs, ...(deadline && { deadline }) };
}
