import type { NetworkPolicy } from "../../network/policy.ts";
import type { Guest } from "../../runtime/guest/guest.ts";
import type { SandboxRecord } from "../sandbox-record.ts";
import { assertNetworkGranted, assertUsableNetwork, insideOf } from "../grants.ts";
import type { Principal } from "../sandbox.ts";
import type { HomeNetworks } from "./home-networks.ts";
import type { NetworkState } from "./network-state.ts";
import { assertWithin } from "../network-ceiling.ts";
import { readsTraffic, trustAuthority, TRUST_MS } from "./trust-authority.ts";

export interface NetworkTarget {
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
export async function changePolicy({ networks, record, guest }: NetworkTarget, wish: PolicyWish): Promise<void> {
  const policy = await networks.check(wish.policy);
  if (wish.principal) await assertNetworkGranted(policy, wish.principal);
  const change = (before: NetworkState): Promise<NetworkState> => changed(before, { ...wish, policy });
  await change((await networks.read(record)).state);
  if (await readsTraffic(policy)) await trustOwnAuthority({ networks, record, guest });
  await networks.change(record, change);
}

/** Rejects with `FORBIDDEN`. A ceiling may be what another token of the owner was granted: it gives nobody more than its own grants. */
async function changed(before: NetworkState, { policy, capped, principal }: PolicyWish): Promise<NetworkState> {
  if (capped) {
    await assertWithin(policy, before.ceiling);
    const after = { ...before, policy };
    if (principal) await assertUsableNetwork(after, principal);
    return after;
  }
  const { inside: _before, ...rest } = before;
  const inside = principal && insideOf(principal);
  return { ...rest, policy, ceiling: policy, ...(inside !== undefined && { inside }) };
}

/** Of several processes that make one at once, the first one's holds. */
async function trustOwnAuthority({ networks, record, guest }: NetworkTarget): Promise<void> {
  const { createSandboxAuthority } = await import("../../network/tls/sandbox-authority.ts");
  const { authority } = await networks.change(record, (state) =>
    state.authority ? state : { ...state, authority: createSandboxAuthority() },
  );
  if (authority) await trustAuthority(guest, authority.certificatePem, AbortSignal.timeout(TRUST_MS));
}
