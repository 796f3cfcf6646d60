import { repeat } from "../../async/repeat.ts";
import { listAll } from "../../sandbox/list-sandboxes.ts";
import type { Principal, SandboxInfo, Sandboxes } from "../../sandbox/sandbox.ts";
import type { TokenStore } from "../auth/token-store.ts";
import type { GatewayLog } from "../gateway-log.ts";
import { madeWith } from "./control/made-with.ts";

export interface PausedRetentionOptions {
  readonly sandboxes: Pick<Sandboxes, "list" | "get">;
  readonly tokens: Pick<TokenStore, "list">;
  readonly retentionMs: number;
  readonly log: GatewayLog;
}

const EVERY_MS = 3_600_000;

/**
 * Looks now and every hour at the paused sandboxes of E2B's clients, as long as a server lives: one that its deadline has paused stays for the
 * retention, and not for the keeper's own week; one that is stopped for longer is removed.
 */
export function keepPausedSandboxes(options: PausedRetentionOptions): AsyncDisposable {
  const look = async (): Promise<number> => {
    await reviewPaused(options).catch((err: unknown) => options.log.error({ err }, "Paused sandboxes cannot be looked after"));
    return EVERY_MS;
  };
  return repeat(look, 0);
}

/** Once, of all owners that have a key. What cannot be changed now is left for the next time. */
export async function reviewPaused(options: PausedRetentionOptions, now = Date.now()): Promise<void> {
  for (const owner of await findOwners(options.tokens)) {
    for await (const info of listAll(options.sandboxes, owner, { state: ["paused", "stopped"] })) {
      if (!madeWith(info.metadata)) continue;
      await review(options, owner, { info, now }).catch((err: unknown) =>
        options.log.error({ err }, `The paused sandbox ${info.id} cannot be looked after`),
      );
    }
  }
}

async function findOwners(tokens: Pick<TokenStore, "list">): Promise<readonly Principal[]> {
  const keys = (await tokens.list()).filter(({ scopes }) => scopes.includes("surface:e2b"));
  return [...new Set(keys.map(({ name }) => name))].map((name) => ({ id: `token:${name}`, name }));
}

interface Reviewed {
  readonly info: SandboxInfo;
  readonly now: number;
}

async function review({ sandboxes, retentionMs }: PausedRetentionOptions, owner: Principal, { info, now }: Reviewed): Promise<void> {
  const isOver = info.state === "stopped" && info.endedAt !== undefined && info.endedAt.getTime() + retentionMs <= now;
  // From then on its action is another one, so this is done once for each pause.
  const isOverdue = info.state === "paused" && info.onDeadline === "pause" && info.stateReason !== undefined;
  if (isOver) await (await sandboxes.get(owner, info.id)).kill();
  else if (isOverdue) await (await sandboxes.get(owner, info.id)).extend(retentionMs, "stop");
}
