import { readlink, unlink } from "node:fs/promises";
import { createHash } from "node:crypto";
import { join } from "node:path";
import { mapLimit } from "../../async/map-limit.ts";
import { highest, listNumbers, placeLink, replaceLink } from "../../files/numbered-links.ts";
import { ifPresent } from "../../files/file-error.ts";
import type { SandboxRecord } from "../sandbox-record.ts";

/** One sandbox's place in the line of its owner: whoever comes later counts it. */
export type QuotaTicket = Pick<SandboxRecord, "id" | "creator" | "createdAt"> & {
  readonly number: number;
  readonly memoryBytes: number;
};

/** What a ticket says before it has its number. */
export type TicketText = Omit<QuotaTicket, "number">;

/** So far below the highest number a ticket stays, whatever became of its sandbox. */
const KEPT = 16;
const PARALLEL = 16;
const GONE = "gone";
const TEXT = /^([a-z0-9]{20}) (\d{1,15}) (\d{1,15}) (\d{1,15}) (\d{1,16})$/;

/**
 * `<home>/quotas/<hash of the owner>/<number>` is a link whose text tells of one sandbox. A link appears whole and only once, so each
 * maker gets a number of its own, and sees every ticket below it: two that come together cannot both take the last place.
 * The latest numbers are never freed, so that a number which was placed late is known by those far above it, and given up.
 */
export class QuotaTickets {
  readonly #directory: string;

  constructor(home: string) {
    this.#directory = join(home, "quotas");
  }

  /** The number, higher than that of every ticket that was there before. */
  async take(owner: string, text: TicketText): Promise<number> {
    const folder = this.#folder(owner);
    for (;;) {
      const number = highest(await listNumbers(folder)) + 1;
      if (!(await placeLink(folder, number, format(text)))) continue;
      if (highest(await listNumbers(folder)) < number + KEPT) return number;
      await this.withdraw(owner, number);
    }
  }

  async list(owner: string): Promise<readonly QuotaTicket[]> {
    const folder = this.#folder(owner);
    const tickets = await mapLimit(await listNumbers(folder), PARALLEL, async (number) => {
      const path = join(folder, String(number));
      return parse(number, (await ifPresent(path, readlink(path))) ?? "");
    });
    return tickets.filter((ticket) => ticket !== undefined);
  }

  /** Counts for nobody any more; only its taker may. */
  async withdraw(owner: string, number: number): Promise<void> {
    await replaceLink(join(this.#folder(owner), String(number)), GONE);
  }

  /** Removes what is far below the highest and not among those that live. */
  async forget(owner: string, isLive: (ticket: QuotaTicket) => boolean): Promise<void> {
    const folder = this.#folder(owner);
    const [numbers, tickets] = [await listNumbers(folder), await this.list(owner)];
    const live = new Set(tickets.filter(isLive).map(({ number }) => number));
    const old = numbers.filter((number) => number <= highest(numbers) - KEPT && !live.has(number));
    await mapLimit(old, PARALLEL, (number) => ifPresent(folder, unlink(join(folder, String(number)))));
  }

  #folder(owner: string): string {
    return join(this.#directory, createHash("sha256").update(owner).digest("hex"));
  }
}

function format({ id, creator, createdAt, memoryBytes }: TicketText): string {
  return [id, creator.pid, creator.startedMs, createdAt.getTime(), memoryBytes].join(" ");
}

function parse(number: number, text: string): QuotaTicket | undefined {
  const [, id, ...rest] = TEXT.exec(text) ?? [];
  const [pid = 0, startedMs = 0, created = 0, memoryBytes = 0] = rest.map(Number);
  return id === undefined ? undefined : { number, id, creator: { pid, startedMs }, createdAt: new Date(created), memoryBytes };
}
