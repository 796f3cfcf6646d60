import type { NetworkPolicy } from "../../network/policy.ts";
import type { SandboxRecord } from "../sandbox-record.ts";
import type { CreateOptions, Principal } from "../sandbox.ts";
import type { NetworkTarget } from "./change-policy.ts";
import type { HomeNetworks } from "./home-networks.ts";
import { assertNetworkGranted, insideOf, policyWithin } from "../grants.ts";
import type { NetworkState } from "./network-state.ts";
import { firstState } from "./network-state.ts";
import { readsTraffic, trustAuthority, TRUST_MS } from "./trust-authority.ts";

export type NetworkRecord = Pick<SandboxRecord, "network" | "networkCeiling" | "networkInside" | "secrets" | "secretsOf" | "placeholders">;

/** What a sandbox's maker wishes of its network, checked. Rejects with `ARGUMENTS_INVALID`, `FORBIDDEN`, `SECRET_NOT_FOUND` or `NOT_SUPPORTED`. */
export async function prepareNetwork(
  principal: Principal,
  options: CreateOptions,
  { networks, standard }: { readonly networks: HomeNetworks; readonly standard: NetworkPolicy },
): Promise<NetworkRecord> {
  const { networkOf = principal } = options;
  const network = await networks.check(options.network ?? (await policyWithin(standard, principal)));
  const networkCeiling = options.networkCeiling === undefined ? undefined : await networks.check(options.networkCeiling);
  await assertNetworkGranted(network, networkOf);
  await assertNetworkGranted(networkCeiling ?? "none", networkOf);
  const networkInside = options.isPublicOnly ? "none" : insideOf(networkOf);
  const policies = {
    network,
    ...(networkCeiling !== undefined && { networkCeiling }),
    ...(networkInside !== undefined && { networkInside }),
  };
  if (Object.keys(options.secrets ?? {}).length === 0) return policies;
  const { prepareSecrets } = await import("./prepare-secrets.ts");
  const secrets = await prepareSecrets({ principal, network, store: networks.secrets }, options);
  return { ...policies, ...secrets, ...(options.secretsOf !== undefined && { secretsOf: options.secretsOf }) };
}

/** What its network begins with: with an authority of its own when some of its traffic is to be read. */
export async function beginNetwork(record: SandboxRecord): Promise<NetworkState> {
  const state = firstState(record);
  if (record.secrets === undefined && !(await readsTraffic(record.network))) return state;
  const { createSandboxAuthority } = await import("../../network/tls/sandbox-authority.ts");
  return { ...state, authority: createSandboxAuthority() };
}

/** Writes it down for other processes, and resolves once programs inside trust what they must. Its maker serves it already. */
export async function settleNetwork({ networks, record, guest }: NetworkTarget, first: NetworkState): Promise<void> {
  if (first.authority) {
    const trusted = trustAuthority(guest, first.authority.certificatePem, AbortSignal.timeout(TRUST_MS));
    await Promise.all([networks.announce(record, first), trusted]);
  } else if (first.policy !== "none") {
    networks
      .announce(record, first)
      .catch((cause: unknown) => networks.report(`Other processes do not see the network of sandbox ${record.id}: ${String(cause)}`));
  }
}
