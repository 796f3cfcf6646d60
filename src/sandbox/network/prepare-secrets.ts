import { BelljarError } from "../../errors.ts";
import { forScheme, PolicyTable } from "../../network/egress/policy-table.ts";
import type { NetworkPolicy, SecretUse, SecretUses } from "../../network/policy.ts";
import { createPlaceholder } from "../../network/secrets/placeholder.ts";
import type { SecretStore } from "../../secrets/secret-store.ts";
import { parseSecretHost, parseSecretUses } from "../../network/secrets/secret-uses.ts";
import type { SandboxRecord } from "../sandbox-record.ts";
import type { CreateOptions, Principal } from "../sandbox.ts";
import { formatPolicy } from "../network-ceiling.ts";

export interface SecretsSource {
  readonly principal: Principal;
  readonly network: NetworkPolicy;
  readonly store: SecretStore | undefined;
}

/** The secrets that a sandbox's maker wishes for, checked, with a placeholder for each. */
export async function prepareSecrets(
  { principal, network, store }: SecretsSource,
  options: CreateOptions,
): Promise<Required<Pick<SandboxRecord, "secrets" | "placeholders">>> {
  const secrets = parseSecretUses(options.secrets ?? {});
  assertNotSet(Object.keys(secrets), options.env ?? {});
  for (const use of Object.values(secrets)) assertAllowed(use, network);
  await assertStored(options.secretsOf ?? principal.id, secrets, store);
  return { secrets, placeholders: Object.fromEntries(Object.keys(secrets).map((name) => [name, createPlaceholder()])) };
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

async function assertStored(owner: string, uses: SecretUses, store: SecretStore | undefined): Promise<void> {
  if (!store) throw new BelljarError("NOT_SUPPORTED", "This process has no secrets: make the sandbox with the CLI or a server");
  const stored = new Set((await store.list(owner)).map(({ name }) => name));
  const missing = Object.values(uses).find(({ secret }) => !stored.has(secret));
  if (missing)
    throw new BelljarError("SECRET_NOT_FOUND", `No secret ${missing.secret}: store it with \`belljar secret set ${missing.secret}\``);
}
