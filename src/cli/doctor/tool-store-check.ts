import type { Config } from "../../config/config.ts";
import { databaseOf } from "../../config/database.ts";
import { BelljarError } from "../../errors.ts";
import type { IsolationCheck } from "../../runtime/contract/runtime.ts";
import type { HostIsolation } from "../../sandbox/runtimes.ts";

/** Adds whether the database of users' tools answers, if there is to be one. */
export async function withToolStoreCheck(isolation: HostIsolation, { tools }: Pick<Config, "tools">): Promise<HostIsolation> {
  const check = await toolStoreCheck(tools);
  return check ? { ...isolation, checks: [...isolation.checks, check] } : isolation;
}

async function toolStoreCheck(tools: Config["tools"]): Promise<IsolationCheck | undefined> {
  try {
    const place = databaseOf(tools);
    if (!place) return undefined;
    const { probePostgres } = await import("../../dynamic/store/postgres/postgres-store.ts");
    return { id: "tool-store", state: "enforced", detail: `Users' tools are stored in ${await probePostgres(place)}` };
  } catch (cause) {
    if (!(cause instanceof BelljarError)) throw cause;
    return { id: "tool-store", state: "absent", detail: cause.message };
  }
}
