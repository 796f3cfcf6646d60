import type { TurnsByKey } from "../../async/turns-by-key.ts";
import type { Sandboxes } from "../../sandbox/sandbox.ts";
import type { Volumes } from "../../sandbox/volumes/volumes.ts";
import type { NotedVault } from "../../secrets/secret-store.ts";
import type { TemplatesInSteps } from "../../template/templates-in-steps.ts";
import type { E2bDomain } from "./e2b-domain.ts";
import type { OwnerKeys } from "./owner-keys.ts";
import type { SandboxTokens } from "./sandbox-tokens.ts";
import type { NetworkPolicy } from "../../network/policy.ts";
import type { GatewayLog } from "../gateway-log.ts";

/** What the configuration says of E2B's clients. */
export interface E2bSettings {
  /** Of a sandbox whose maker says nothing of it. */
  readonly network: NetworkPolicy;
  /** Ports are open without a token unless the sandbox's maker forbids it. */
  readonly publicTraffic: boolean;
  readonly pausedRetentionMs: number;
  /** Of each new volume. */
  readonly volumeQuotaBytes: number;
}

/** What the surfaces of E2B stand on: the same domain as all others. */
export interface E2b {
  readonly sandboxes: Sandboxes;
  /** Absent: none are served. */
  readonly templates: (() => Promise<TemplatesInSteps>) | undefined;
  readonly secrets: NotedVault | undefined;
  readonly volumes: Volumes | undefined;
  readonly tokens: SandboxTokens;
  readonly keys: OwnerKeys;
  readonly settings: E2bSettings;
  /** Absent: no host name is asked by TLS. */
  readonly domain?: E2bDomain | undefined;
  /** Pauses and resumes of a sandbox, one after the other: `turnOf` gives the key. */
  readonly turns: Pick<TurnsByKey, "run">;
  /** Hears the `User-Agent` of those who make sandboxes. */
  readonly noteClient: (userAgent: string | undefined) => void;
  readonly log: GatewayLog;
}

/** The release of E2B's program in sandboxes whose protocol is served. Clients look at it for what they may ask. */
export const ENVD_VERSION = "0.6.13";
export const ENVD_PORT = 49_983;
export const INTERPRETER_PORT = 49_999;
