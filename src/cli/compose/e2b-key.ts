import type { Config } from "../../config/config.ts";
import type { NetworkPolicy } from "../../network/policy.ts";
import { domainFor } from "../../gateway/e2b/e2b-domain.ts";
import { configuredPolicy } from "./configured-policy.ts";
import { trustFiles } from "./open-e2b-domain.ts";
import { serverOrigin } from "./port-origin.ts";

/** The scopes of an API key for E2B's clients: those that were named, what it opens, and a network unless one was named. */
export async function e2bScopes(config: Config, named: readonly string[], opensAll: boolean): Promise<readonly string[]> {
  const hasNetwork = named.some((scope) => scope.startsWith("network:"));
  const networks = hasNetwork ? [] : networkScopes(await configuredPolicy(config, "e2b"));
  return [...named, "surface:e2b", ...(opensAll ? ["surface:belljar"] : []), ...networks];
}

function networkScopes(policy: NetworkPolicy): readonly string[] {
  return (typeof policy === "string" ? [policy] : policy.allow).map((rule) => `network:${rule}`);
}

export interface E2bRoads {
  readonly byUrl: Readonly<Record<string, string>>;
  /** For programs that know a domain alone. Absent without `tls.domain`. */
  readonly byNames?: Readonly<Record<string, string>>;
}

/** The variables by which E2B's clients find this server. Under `localhost`, names of ports lead to this machine too. */
export function e2bVariables(config: Config, key: string): E2bRoads {
  const origin = serverOrigin(config);
  if (origin.hostname === "127.0.0.1") origin.hostname = "localhost";
  const url = origin.origin;
  const byUrl = { E2B_API_KEY: key, E2B_API_URL: url, E2B_SANDBOX_URL: url, E2B_VOLUME_API_URL: url };
  const { domain, cert } = config.tls;
  if (domain === undefined) return { byUrl };
  const { authority, bundle } = trustFiles(config.home, domain);
  // A certificate that was given is trusted already, or its owner knows how.
  const trust: Readonly<Record<string, string>> = cert === undefined ? { NODE_EXTRA_CA_CERTS: authority, SSL_CERT_FILE: bundle } : {};
  return { byUrl, byNames: { E2B_API_KEY: key, E2B_DOMAIN: domainFor({ name: domain }, origin.href), ...trust } };
}
