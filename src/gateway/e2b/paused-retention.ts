import { repeat } from "../../async/repeat.ts";
import { listAll } from "../../sandbox/list-sandboxes.ts";
import type { Principal, SandboxInfo, Sandboxes } from "../../sandbox/sandbox.ts";
import type { TokenStore } from "../auth/token-store.ts";
import type { GatewayLog } from "../gateway-log.ts";
import { turnOf } from "./control/lifecycle.ts";
import { madeWith } from "./control/made-with.ts";
import type { E2b } from "./e2b.ts";

export interface PausedRetentionOptions {
  readonly sandboxes: Pick<Sandboxes, "list" | "get">;
  readonly tokens: Pick<TokenStore, "list">;
  /** Of all who pause and resume. */
  readonly turns: E2b["turns"];
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
      await review(options, owner, { id: info.id, now }).catch((err: unknown) =>
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
  readonly id: string;
  readonly now: number;
}

/** In its turn, and as it is then: since it was listed somebody may have resumed it. */
function review({ sandboxes, turns, retentionMs }: PausedRetentionOptions, owner: Principal, { id, now }: Reviewed): Promise<void> {
  return turns.run(turnOf({ owner: owner.id, id }), async () => {
    const sandbox = await sandboxes.get(owner, id);
    const wish = wishFor(await sandbox.info(), { retentionMs, now });
    if (wish === "kill") await sandbox.kill();
    else if (wish === "keep") await sandbox.extend(retentionMs, "stop");
  });
}

function wishFor(
  info: SandboxInfo,
  { retentionMs, now }: { readonly retentionMs: number; readonly now: number },
): "kill" | "keep" | undefined {
  const isOver = info.state === "stopped" && info.endedAt !== undefined && info.endedAt.getTime() + retentionMs <= now;
  // From then on its action is another one, so this is done once for each pause.
  const isOverdue = info.state === "paused" && info.onDeadline === "pause" && info.stateReason !== undefined;
  return isOver ? "kill" : isOverdue ? "keep" : undefined;
}
