import { join } from "node:path";
import { BelljarError } from "../../errors.ts";
import { CREATOR } from "../creator.ts";
import { quotasOf } from "../grants.ts";
import { QuotaTickets } from "../quota/quota-tickets.ts";
import type { Principal, Quotas } from "../sandbox.ts";
import type { SnapshotClaim, SnapshotFiles } from "./snapshot-files.ts";
import { snapshotNameTaken } from "./state-errors.ts";

/**
 * How many snapshots an owner has, and their names, whichever process makes them. Whoever makes a snapshot writes its claim, takes a
 * ticket, and counts all claims that had a ticket before. So of two that come at once the later one sees the earlier one.
 */
export class SnapshotRoom {
  readonly #files: SnapshotFiles;
  readonly #tickets: QuotaTickets;
  readonly #standard: Quotas | undefined;

  constructor(home: string, files: SnapshotFiles, standard?: Quotas) {
    this.#files = files;
    this.#tickets = new QuotaTickets(join(home, "snapshots"));
    this.#standard = standard;
  }

  /** Makes the claim. Rejects with `SNAPSHOT_NAME_TAKEN` and `QUOTA_EXCEEDED`, and then takes it back. */
  async claim(principal: Principal, claim: SnapshotClaim): Promise<void> {
    await this.#files.begin(claim);
    const { snapshots: most } = quotasOf(principal, this.#standard);
    try {
      await this.#assertRoom(claim, most);
    } catch (cause) {
      await this.#files.forget(claim.id);
      throw cause;
    }
  }

  async #assertRoom({ id, owner, name }: SnapshotClaim, most: number | undefined): Promise<void> {
    const number = await this.#tickets.take(owner, { id, creator: CREATOR, createdAt: new Date(), memoryBytes: 0 });
    const claims = (await this.#files.claims()).filter((claim) => claim.owner === owner && claim.id !== id);
    const numbers = new Map((await this.#tickets.list(owner)).map((ticket) => [ticket.id, ticket.number]));
    // One in the making without a ticket takes its ticket now. A snapshot without one had it long ago.
    const earlier = claims.filter((claim) => (numbers.get(claim.id) ?? (claim.isMaking ? Infinity : 0)) < number);
    const ids = new Set([id, ...claims.map((claim) => claim.id)]);
    await this.#tickets.forget(owner, (ticket) => ids.has(ticket.id));
    const namesake = name === undefined ? undefined : earlier.find((claim) => claim.name === name);
    if (namesake && name !== undefined) throw snapshotNameTaken(name, namesake.id);
    if (most !== undefined && earlier.length >= most) throw snapshotsUsedUp(most, earlier.length);
  }
}

function snapshotsUsedUp(most: number, has: number): BelljarError {
  return new BelljarError(
    "QUOTA_EXCEEDED",
    `The quota of ${most} snapshots is used up (${has} are kept or are just being made): remove one with \`belljar snapshot remove\``,
  );
}
