import { BelljarError } from "../../../errors.ts";
import type { JsonObject } from "../../client/json-object.ts";
import type { ServerSession } from "../../client/server-session.ts";
import type { TakeBytes } from "./list-budget.ts";
import { type ItemList, listItems } from "./list-items.ts";

/** Of all pages of all lists. */
const LIST_MS = 60_000;

export const TOOLS: ItemList = { method: "tools/list", field: "tools", capability: "tools", key: "name" };
const OTHERS = {
  resources: { method: "resources/list", field: "resources", capability: "resources", key: "uri" },
  templates: { method: "resources/templates/list", field: "resourceTemplates", capability: "resources", key: "uriTemplate" },
  prompts: { method: "prompts/list", field: "prompts", capability: "prompts", key: "name" },
} as const satisfies Readonly<Record<string, ItemList>>;

/** What a server has, as it came. */
export type Listed = Readonly<Record<"tools" | keyof typeof OTHERS, readonly JsonObject[]>> & { readonly capabilities: JsonObject };

export interface ListServerOptions {
  /** Of the server. */
  readonly name: string;
  readonly signal: AbortSignal;
  readonly report: (problem: string) => void;
  /** Is given the name of each item of a list that is too large, if it has one. */
  readonly leftOut: (field: string) => (name: string | undefined) => void;
  /** Is asked for room for each item of all lists. */
  readonly take: TakeBytes;
}

/**
 * All lists of a server. One that cannot list resources or prompts has its tools nevertheless. Rejects with `EXEC_TIMEOUT`, and as `listItems`. The
 * start of an instance has a limit of its own.
 */
export async function listServer(session: ServerSession, options: ListServerOptions): Promise<Listed> {
  const late = AbortSignal.timeout(LIST_MS);
  const own = { ...options, signal: AbortSignal.any([options.signal, late]) };
  try {
    const tools = await listItems(session, TOOLS, { signal: own.signal, leftOut: own.leftOut("tools"), take: own.take });
    const others = Object.entries(OTHERS).map(async ([name, list]) => [name, await listOther(session, list, own)] as const);
    const { capabilities } = session;
    return { capabilities, tools, ...(Object.fromEntries(await Promise.all(others)) as Omit<Listed, "tools" | "capabilities">) };
  } catch (cause) {
    if (!late.aborted) throw cause;
    throw new BelljarError("EXEC_TIMEOUT", `The server "${options.name}" did not list what it has in ${LIST_MS} ms`, { cause });
  }
}

async function listOther(
  session: ServerSession,
  list: ItemList,
  { signal, report, leftOut, take }: ListServerOptions,
): Promise<readonly JsonObject[]> {
  try {
    return await listItems(session, list, { signal, leftOut: leftOut(list.field), take });
  } catch (cause) {
    if (signal.aborted || session.hasEnded() || !(cause instanceof BelljarError)) throw cause;
    if (cause.code !== "SERVER_REFUSED") report(cause.message);
    return [];
  }
}
