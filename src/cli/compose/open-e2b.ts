import { join } from "node:path";
import { TurnsByKey } from "../../async/turns-by-key.ts";
import type { Config } from "../../config/config.ts";
import type { Log } from "../log.ts";
import type { OpenedDomain } from "./open-e2b-domain.ts";
import { openE2bDomain } from "./open-e2b-domain.ts";
import { configuredPolicy } from "./configured-policy.ts";
import { openHomeKey } from "../../files/home-key.ts";
import { createTokenStore } from "../../gateway/auth/token-store.ts";
import type { E2b } from "../../gateway/e2b/e2b.ts";
import { createOldClients } from "../../gateway/e2b/control/old-clients.ts";
import { createOwnerKeys } from "../../gateway/e2b/owner-keys.ts";
import { createSandboxTokens } from "../../gateway/e2b/sandbox-tokens.ts";
import { isLoopback } from "../../gateway/loopback.ts";

export interface OpenedE2b extends Pick<E2b, "tokens" | "keys" | "settings" | "turns" | "noteClient"> {
  readonly domain?: OpenedDomain;
}

/** What the surfaces of E2B need of a home. */
export async function openE2b(config: Config, log: Log): Promise<OpenedE2b> {
  const { home, host } = config;
  const key = await openHomeKey({
    folder: join(home, "e2b"),
    name: "the key of the tokens of E2B's clients",
    lastResort: "remove it: clients then connect to their sandboxes again",
  });
  const { publicTraffic = isLoopback(host), pausedRetention: pausedRetentionMs, volumeQuota: volumeQuotaBytes } = config.e2b;
  const domain = await openE2bDomain(config, (err) => log.error({ err }, "The changed certificate is not used: the earlier one stays"));
  return {
    ...(domain && { domain }),
    tokens: createSandboxTokens(key.bytes),
    keys: createOwnerKeys(createTokenStore(home)),
    turns: new TurnsByKey(),
    noteClient: createOldClients(log),
    settings: { network: await configuredPolicy(config, "e2b"), publicTraffic, pausedRetentionMs, volumeQuotaBytes },
  };
}
