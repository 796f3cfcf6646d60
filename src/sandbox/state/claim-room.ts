import type { BelljarError } from "../../errors.ts";
import { CREATOR } from "../creator.ts";
import { QuotaTickets } from "../quota/quota-tickets.ts";
import type { Principal } from "../sandbox.ts";
import type { Claim, ClaimedFiles, KnownClaim } from "./claimed-files.ts";

export interface ClaimRoomOptions {
  readonly files: ClaimedFiles<Claim>;
  /** Has the tickets of each owner. */
  readonly directory: string;
  /** Why there is no room for it beside those that came before. Undefined: there is. */
  readonly refusal: (principal: Principal, claim: Claim, earlier: readonly KnownClaim[]) => BelljarError | undefined;
}

/**
 * Which records an owner may add, whichever process does. Whoever makes one writes its claim, takes a ticket, and looks at all claims that
 * had a ticket before. So of two that come at once the later one sees the earlier one.
 */
export class ClaimRoom {
  readonly #options: ClaimRoomOptions;
  readonly #tickets: QuotaTickets;

  constructor(options: ClaimRoomOptions) {
    this.#options = options;
    this.#tickets = new QuotaTickets(options.directory);
  }

  /** Makes the claim, and tells those of the owner that came before. Rejects with what `refusal` says, and then takes it back. */
  async claim(principal: Principal, claim: Claim): Promise<readonly KnownClaim[]> {
    const { files, refusal } = this.#options;
    await files.begin(claim);
    try {
      const earlier = await this.#earlier(claim);
      const refused = refusal(principal, claim, earlier);
      if (refused) throw refused;
      return earlier;
    } catch (cause) {
      await files.forget(claim.id);
      throw cause;
    }
  }

  async #earlier({ id, owner }: Claim): Promise<readonly KnownClaim[]> {
    const number = await this.#tickets.take(owner, { id, creator: CREATOR, createdAt: new Date(), memoryBytes: 0 });
    const claims = (await this.#options.files.claims()).filter((claim) => claim.owner === owner && claim.id !== id);
    const numbers = new Map((await this.#tickets.list(owner)).map((ticket) => [ticket.id, ticket.number]));
    const ids = new Set([id, ...claims.map((claim) => claim.id)]);
    await this.#tickets.forget(owner, (ticket) => ids.has(ticket.id));
    // One in the making without a ticket takes its ticket now. One that is made had it long ago.
    return claims.filter((claim) => (numbers.get(claim.id) ?? (claim.isMaking ? Infinity : 0)) < number);
  }
}
