import { BelljarError } from "../../errors.ts";
import { checkNetworkPolicy, narrows } from "../../network/check-policy.ts";
import { forScheme, PolicyTable } from "../../network/egress/policy-table.ts";
import type { NetworkPolicy, SecretUse, SecretUses } from "../../network/policy.ts";
import { createPlaceholder } from "../../network/secrets/placeholder.ts";
import type { SecretStore } from "../../network/secrets/secret-store.ts";
import { parseSecretHost, parseSecretUses } from "../../network/secrets/secret-uses.ts";
import { createSandboxAuthority } from "../../network/tls/sandbox-authority.ts";
import type { SandboxRecord } from "../sandbox-record.ts";
import type { CreateOptions, Principal } from "../sandbox.ts";
import type { NetworkPlace } from "./change-policy.ts";
import type { HomeNetworks } from "./home-networks.ts";
import { assertWithin, formatPolicy } from "./network-ceiling.ts";
import type { NetworkState } from "./network-state.ts";
import { firstState } from "./network-state.ts";
import { readsTraffic, trustAuthority, TRUST_MS } from "./trust-authority.ts";

export type NetworkRecord = Pick<SandboxRecord, "network" | "networkCeiling" | "secrets" | "placeholders">;

/** What a sandbox's maker wishes of its network, checked. Rejects with `ARGUMENTS_INVALID`, `SECRET_NOT_FOUND` or `NOT_SUPPORTED`. */
export async function prepareNetwork(
  principal: Principal,
  options: CreateOptions,
  { networks, standard }: { readonly networks: HomeNetworks; readonly standard: NetworkPolicy },
): Promise<NetworkRecord> {
  const network = networks.check(options.network ?? withinGrant(standard, principal));
  const networkCeiling = options.networkCeiling === undefined ? network : checkNetworkPolicy(options.networkCeiling);
  const most = principal.grants?.network;
  if (most !== undefined) assertWithin(network, most);
  if (most !== undefined) assertWithin(networkCeiling, most);
  const secrets = parseSecretUses(options.secrets ?? {});
  const variables = Object.keys(secrets);
  if (variables.length === 0) return { network, networkCeiling };
  assertNotSet(variables, options.env ?? {});
  for (const use of Object.values(secrets)) assertAllowed(use, network);
  await assertStored(principal, secrets, networks.secrets);
  return { network, networkCeiling, secrets, placeholders: Object.fromEntries(variables.map((name) => [name, createPlaceholder()])) };
}

/** The configuration's policy, for a caller who was granted less of it the grant. */
function withinGrant(standard: NetworkPolicy, { grants }: Principal): NetworkPolicy {
  return grants?.network === undefined || narrows(standard, grants.network) ? standard : grants.network;
}

/** What its network begins with: with an authority of its own when some of its traffic is to be read. */
export function beginNetwork(record: SandboxRecord): NetworkState {
  const isRead = record.secrets !== undefined || readsTraffic(record.network);
  return { ...firstState(record), ...(isRead && { authority: createSandboxAuthority() }) };
}

/** Writes it down for other processes, and resolves once programs inside trust what they must. Its maker serves it already. */
export async function settleNetwork({ networks, record, guest }: NetworkPlace, first: NetworkState): Promise<void> {
  if (first.authority) {
    await Promise.all([networks.announce(record, first), trustAuthority(guest, first.authority.certificatePem, AbortSignal.timeout(TRUST_MS))]);
  } else if (first.policy !== "none") {
    networks
      .announce(record, first)
      .catch((cause: unknown) => networks.report(`Other processes do not see the network of sandbox ${record.id}: ${String(cause)}`));
  }
}

function assertNotSet(variables: readonly string[], env: Readonly<Record<string, string>>): void {
  const twice = variables.find((name) => Object.hasOwn(env, name));
  if (twice === undefined) return;
  throw new BelljarError("ARGUMENTS_INVALID", `The variable ${twice} is given twice, with a value and as a secret: leave one of them out`);
}

/** A value that its host's rule does not let out would be a riddle to whoever runs the program. */
function assertAllowed({ secret, hosts }: SecretUse, policy: NetworkPolicy): void {
  const table = new PolicyTable(policy);
  for (const { host, port } of hosts.map(parseSecretHost)) {
    if (forScheme(table.find(host, port), "https").length > 0) continue;
    const rule = port === 443 ? `https://${host}` : `https://${host}:${port}`;
    throw new BelljarError(
      "ARGUMENTS_INVALID",
      `The secret ${secret} is for ${host}, which the network policy ${formatPolicy(policy)} does not allow: add the rule ${rule}`,
    );
  }
}

async function assertStored(principal: Principal, uses: SecretUses, store: SecretStore | undefined): Promise<void> {
  if (!store) throw new BelljarError("NOT_SUPPORTED", "This process has no secrets: make the sandbox with the CLI or a server");
  const stored = new Set((await store.list(principal.id)).map(({ name }) => name));
  const missing = Object.values(uses).find(({ secret }) => !stored.has(secret));
  if (missing) throw new BelljarError("SECRET_NOT_FOUND", `No secret ${missing.secret}: store it with \`belljar secret set ${missing.secret}\``);
}
