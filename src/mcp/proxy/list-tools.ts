import { allPages } from "../../async/all-pages.ts";
import { isNestedTooDeep } from "../../catalog/nesting.ts";
import { BelljarError } from "../../errors.ts";
import type { ServerSession } from "../client/server-session.ts";
import { type Definition, definitionSchema } from "./proxied-tool.ts";

const TOOLS_MAX = 10_000;
/** Of all pages, as they came. */
const BYTES_MAX = 32 * 1_048_576;

/**
 * The tools that a server lists, each name once, without fields that nobody reads. What is no tool, or is nested too deep, is left out. Rejects with
 * `RESULT_TOO_LARGE`, and as a request does.
 */
export async function listTools(session: ServerSession, signal: AbortSignal): Promise<readonly Definition[]> {
  if (session.capabilities["tools"] === undefined) return [];
  const found = new Map<string, Definition>();
  let bytes = 0;
  const pages = allPages(async (cursor) => {
    const { tools, nextCursor } = await session.request("tools/list", cursor === undefined ? {} : { cursor }, { signal });
    const items = (Array.isArray(tools) ? tools : []).filter((item) => !isNestedTooDeep(item));
    bytes += Buffer.byteLength(JSON.stringify(items));
    if (bytes > BYTES_MAX) throw new BelljarError("RESULT_TOO_LARGE", `The server lists more than ${BYTES_MAX} bytes of tools`);
    return { items, nextCursor: typeof nextCursor === "string" ? nextCursor : undefined };
  });
  for await (const item of pages) {
    const { data } = definitionSchema.safeParse(item);
    if (data && !found.has(data.name)) found.set(data.name, data);
    if (found.size >= TOOLS_MAX) break;
  }
  return [...found.values()];
}
