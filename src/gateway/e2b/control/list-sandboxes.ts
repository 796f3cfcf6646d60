import { listAll } from "../../../sandbox/list-sandboxes.ts";
import type { Principal, SandboxInfo, Sandboxes } from "../../../sandbox/sandbox.ts";
import { LIVE_STATES } from "../../../sandbox/sandbox.ts";
import type { ListQuery, MetadataFilter } from "./list-query.ts";
import { metadataOf } from "./made-with.ts";
import type { Page } from "./page-token.ts";
import { cutPage } from "./page-token.ts";
import { stateOf, templateOf } from "./sandbox-answer.ts";

export interface ListedPage extends Page<{ readonly info: SandboxInfo }> {
  /** Of all that the filter finds, whichever page they are on. */
  readonly running: number;
}

/** One page of the caller's sandboxes. All are looked at: the order goes both ways, and clients want to know how many run. */
export async function listSandboxes(sandboxes: Pick<Sandboxes, "list">, caller: Principal, query: ListQuery): Promise<ListedPage> {
  const found = await findSandboxes(sandboxes, caller, query);
  const wanted = found.filter((info) => query.state?.includes(stateOf(info)) ?? true);
  const places = wanted.map((info) => ({ at: info.createdAt, id: info.id, info }));
  const page = cutPage(places, { order: query.order, limit: query.limit, token: query.nextToken });
  return { ...page, running: found.filter((info) => stateOf(info) === "running").length };
}

/** Those that run, the newest first. */
export async function listRunning(
  sandboxes: Pick<Sandboxes, "list">,
  caller: Principal,
  query: Pick<ListQuery, "metadata">,
): Promise<readonly SandboxInfo[]> {
  return (await findSandboxes(sandboxes, caller, query)).filter((info) => stateOf(info) === "running");
}

type Filter = Pick<ListQuery, "metadata"> & Partial<Pick<ListQuery, "template" | "startedAfter">>;

async function findSandboxes(sandboxes: Pick<Sandboxes, "list">, caller: Principal, filter: Filter): Promise<readonly SandboxInfo[]> {
  const found: SandboxInfo[] = [];
  for await (const info of listAll(sandboxes, caller, { state: LIVE_STATES })) if (matches(info, filter)) found.push(info);
  return found;
}

function matches(info: SandboxInfo, { metadata = [], template, startedAfter }: Filter): boolean {
  if (template !== undefined && templateOf(info).templateID !== template && templateOf(info).alias !== template) return false;
  return hasMetadata(info, metadata) && (startedAfter === undefined || info.createdAt >= startedAfter);
}

function hasMetadata(info: SandboxInfo, pairs: MetadataFilter): boolean {
  const metadata = metadataOf(info.metadata);
  return pairs.every(([key, value]) => Object.hasOwn(metadata, key) && metadata[key] === value);
}
