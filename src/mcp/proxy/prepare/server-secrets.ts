import { BelljarError } from "../../../errors.ts";
import type { CreateOptions, Principal } from "../../../sandbox/sandbox.ts";
import type { HubServer } from "../hub-server.ts";
import { keyValuesOf } from "./key-values.ts";

/** Secrets for servers, and how their values are kept out of what is shown. */
export interface SecretSource {
  /** Undefined if the owner has none of that name. */
  reveal(owner: string, name: string): Promise<string | undefined>;
  /** Takes values out of texts, also where they are encoded in a common way. By what stands in their place. */
  maskOf(values: Readonly<Record<string, string>>): SecretMask;
}

export interface SecretMask {
  text(text: string): string;
  /** For a stream of chunks, between which a value may be split. `end` gives what was held back. */
  open(): { push(chunk: Buffer): Buffer; end(): Buffer };
}

/** What a server gets of secrets beside its entry. */
export interface ServerSecrets {
  /** Variables with the values themselves. */
  readonly env: Readonly<Record<string, string>>;
  /** Absent: there is nothing to hide. */
  readonly mask?: SecretMask;
}

/** The secrets of an entry for which its sandbox has placeholders. */
export function placeholdersOf({ secrets = {} }: HubServer["settings"]): Pick<CreateOptions, "secrets"> {
  const uses = Object.entries(secrets).flatMap(([secret, { env, hosts }]) => (hosts ? [[env, { secret, hosts }] as const] : []));
  return uses.length === 0 ? {} : { secrets: Object.fromEntries(uses) };
}

/** Reads the values that a server gets itself. Rejects with `SECRET_NOT_FOUND`, which says how to store one. */
export async function revealSecrets(
  source: SecretSource | undefined,
  { name, target, settings }: HubServer,
  { id }: Principal,
): Promise<ServerSecrets> {
  const env: Record<string, string> = {};
  const hidden = Object.fromEntries(keyValuesOf(target).map((value, index) => [`key ${index + 1}`, value]));
  for (const [secret, { env: variable, hosts }] of Object.entries(settings.secrets ?? {})) {
    if (hosts) continue;
    const value = await source?.reveal(id, secret);
    if (value === undefined) throw missing(name, secret);
    env[variable] = value;
    hidden[`secret ${secret}`] = value;
  }
  return { env, ...(source && Object.keys(hidden).length > 0 && { mask: source.maskOf(hidden) }) };
}

/** Throws `CONFIG_INVALID` for a variable that an entry gives both a value and a secret. */
export function assertSecretsFree({ name, target, settings }: HubServer): void {
  if (target.kind !== "stdio") return;
  const twice = Object.values(settings.secrets ?? {}).find(({ env }) => Object.hasOwn(target.ownEnv, env));
  if (!twice) return;
  const problem = `${twice.env} is given twice, under env and under secrets: leave one of them out`;
  throw new BelljarError("CONFIG_INVALID", `The server "${name}" cannot be started: the variable ${problem}`);
}

function missing(server: string, secret: string): BelljarError {
  const advice = `store it with \`belljar secret set ${secret}\`, and restart the server`;
  return new BelljarError("SECRET_NOT_FOUND", `The server "${server}" did not start: there is no secret ${secret}: ${advice}`);
}
