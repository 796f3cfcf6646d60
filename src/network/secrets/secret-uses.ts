import { BelljarError } from "../../errors.ts";
import { parseAuthority, toAuthority } from "../host-name.ts";
import type { SecretUse, SecretUses } from "../policy.ts";
import { assertSecretName } from "../../secrets/secret-rules.ts";

const VARIABLE = /^[A-Za-z_][A-Za-z0-9_]{0,127}$/;
const MOST_USES = 64;
const MOST_HOSTS = 32;
const HTTPS_PORT = 443;

/** Returns the uses in canonical form. Throws `ARGUMENTS_INVALID`. */
export function parseSecretUses(uses: SecretUses): SecretUses {
  const entries = Object.entries(uses);
  if (entries.length > MOST_USES) throw invalid(`A sandbox takes at most ${MOST_USES} secrets, not ${entries.length}`);
  return Object.fromEntries(entries.map(([variable, use]) => [variable, parseUse(variable, use)]));
}

function parseUse(variable: string, { secret, hosts }: SecretUse): SecretUse {
  if (!VARIABLE.test(variable))
    throw invalid(`${JSON.stringify(variable.slice(0, 100))} is not a name of a variable: use letters, digits and underscores`);
  assertSecretName(secret);
  if (hosts.length === 0 || hosts.length > MOST_HOSTS)
    throw invalid(`The secret of ${variable} needs 1 to ${MOST_HOSTS} hosts that it may go to, such as api.example.com`);
  return { secret, hosts: [...new Set(hosts.map(writeHost))] };
}

/** Parses `host[:port]`. The default port is 443. Throws `ARGUMENTS_INVALID`. */
export function parseSecretHost(text: string): { readonly host: string; readonly port: number } {
  const found = parseAuthority(text, HTTPS_PORT);
  if (found) return found;
  const advice = "write an exact name or address with an optional port, such as api.example.com or api.example.com:8443";
  throw invalid(`${JSON.stringify(text.slice(0, 100))} is not a host for a secret: ${advice}`);
}

function writeHost(text: string): string {
  const { host, port } = parseSecretHost(text);
  const authority = toAuthority(host, port);
  return port === HTTPS_PORT ? authority.slice(0, -`:${port}`.length) : authority;
}

function invalid(message: string): BelljarError {
  return new BelljarError("ARGUMENTS_INVALID", message);
}
