import type { Config } from "../../config/config.ts";
import type { NetworkPolicy } from "../../network/policy.ts";
import { configuredPolicy } from "./configured-policy.ts";
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

/** The variables by which E2B's clients find this server. Under `localhost`, names of ports lead to this machine too. */
export function e2bVariables(config: Config, key: string): Readonly<Record<string, string>> {
  const origin = serverOrigin(config);
  if (origin.hostname === "127.0.0.1") origin.hostname = "localhost";
  const url = origin.origin;
  return { E2B_API_KEY: key, E2B_API_URL: url, E2B_SANDBOX_URL: url, E2B_VOLUME_API_URL: url };
}
