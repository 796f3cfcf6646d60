import { listAll } from "../../sandbox/list-sandboxes.ts";
import type { Principal, SandboxInfo, Sandboxes } from "../../sandbox/sandbox.ts";
import { LIVE_STATES } from "../../sandbox/sandbox.ts";
import { toDetail } from "./details.ts";

/** What is read as one resource. Labels may be long. */
const TEXT_MAX_BYTES = 4 * 1024 * 1024;

/** Of every live sandbox of the principal, the newest first, what `take` picks. */
export async function listLive<Value>(
  sandboxes: Pick<Sandboxes, "list">,
  principal: Principal,
  take: (info: SandboxInfo) => Value,
): Promise<readonly Value[]> {
  const taken: Value[] = [];
  for await (const info of listAll(sandboxes, principal, { state: LIVE_STATES })) taken.push(take(info));
  return taken;
}

export interface ShownSandboxes {
  /** A JSON array. */
  readonly text: string;
  readonly count: number;
  readonly areAll: boolean;
}

/** The principal's sandboxes, live or not, the newest first, as many as one answer may hold. */
export async function showSandboxes(sandboxes: Pick<Sandboxes, "list">, principal: Principal): Promise<ShownSandboxes> {
  const details: object[] = [];
  let areAll = true;
  let room = TEXT_MAX_BYTES;
  for await (const info of listAll(sandboxes, principal, {})) {
    const detail = toDetail(info);
    room -= Buffer.byteLength(JSON.stringify([detail], null, 2));
    areAll = room >= 0;
    if (!areAll) break;
    details.push(detail);
  }
  return { text: JSON.stringify(details, null, 2), count: details.length, areAll };
}
