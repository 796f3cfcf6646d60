import type { NetworkPolicy } from "../../network/policy.ts";
import type { Guest } from "../../runtime/guest/guest.ts";
import type { SandboxRecord } from "../sandbox-record.ts";
import { assertNetworkGranted, insideOf } from "../grants.ts";
import type { Principal } from "../sandbox.ts";
import type { HomeNetworks } from "./home-networks.ts";
import { assertWithin, beyond } from "../network-ceiling.ts";
import { readsTraffic, trustAuthority, TRUST_MS } from "./trust-authority.ts";

export interface NetworkPlace {
  readonly networks: HomeNetworks;
  readonly record: SandboxRecord;
  readonly guest: Guest;
}

export interface PolicyWish {
  readonly policy: NetworkPolicy;
  /** Only within what a person gave it last. */
  readonly capped: boolean;
  /** Whose wish it is, held to its grants. Absent: one without any. */
  readonly principal?: Principal;
}

/** Rejects with `ARGUMENTS_INVALID`, `FORBIDDEN` or `NOT_SUPPORTED`; then nothing has changed. */
export async function changePolicy({ networks, record, guest }: NetworkPlace, wish: PolicyWish): Promise<void> {
  const { capped, principal } = wish;
  const policy = await networks.check(wish.policy);
  if (principal) await assertNetworkGranted(policy, principal);
  const { state } = await networks.read(record);
  if (capped) await assertWithin(policy, state.ceiling);
  if (await readsTraffic(policy)) await trustOwnAuthority({ networks, record, guest });
  const { narrows } = await import("../../network/check-policy.ts");
  await networks.change(record, (before) => {
    if (capped && !narrows(policy, before.ceiling)) throw beyond(policy, before.ceiling);
    if (capped) return { ...before, policy };
    const { inside: _before, ...rest } = before;
    const inside = principal && insideOf(principal);
    return { ...rest, policy, ceiling: policy, ...(inside !== undefined && { inside }) };
  });
}

/** Of several processes that make one at once, the first one's holds. */
async function trustOwnAuthority({ networks, record, guest }: NetworkPlace): Promise<void> {
  const { createSandboxAuthority } = await import("../../network/tls/sandbox-authority.ts");
  const { authority } = await networks.change(record, (state) =>
    state.authority ? state : { ...state, authority: createSandboxAuthority() },
  );
  if (authority) await trustAuthority(guest, authority.certificatePem, AbortSignal.timeout(TRUST_MS));
}
