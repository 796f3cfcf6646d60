import * as z from "zod";
import { isNestedTooDeep } from "../../../catalog/nesting.ts";
import { hasMoreValues } from "../../../catalog/value-count.ts";
import { textResult } from "../../../catalog/tool-result.ts";
import type { ToolContent, ToolResult } from "../../../catalog/tool.ts";
import { BelljarError } from "../../../errors.ts";
import { isRecord } from "../../client/config/is-record.ts";
import type { JsonObject } from "../../client/json-object.ts";
import { firstBlocks } from "./first-blocks.ts";
import { type Relink, relinkBlock, relinkMeta } from "./relink.ts";

const resource = z.looseObject({ uri: z.string(), mimeType: z.string().optional() });
const block = z.discriminatedUnion("type", [
  z.looseObject({ type: z.literal("text"), text: z.string() }),
  z.looseObject({ type: z.literal("image"), data: z.string(), mimeType: z.string() }),
  z.looseObject({ type: z.literal("audio"), data: z.string(), mimeType: z.string() }),
  z.looseObject({ type: z.literal("resource_link"), uri: z.string(), name: z.string() }),
  z.looseObject({
    type: z.literal("resource"),
    resource: z.union([resource.extend({ text: z.string() }), resource.extend({ blob: z.string() })]),
  }),
]);

/**
 * The answer of a server in its faces. Fields that are not known pass; a block that is none of the protocol's is told of. Throws
 * `SERVER_INCOMPATIBLE` for one that is nested too deep to be sent on.
 */
export function toResult(server: string, answer: JsonObject, relink: Relink): ToolResult {
  if (isNestedTooDeep(answer))
    throw new BelljarError("SERVER_INCOMPATIBLE", `The server "${server}" answered with something that is nested too deep`);
  const { content, structuredContent, isError, resultType: _, ...more } = answer;
  const blocks = firstBlocks(content, (text) => ({ type: "text", text })).map((given): ToolContent => {
    if (hasMoreValues(given)) return { type: "text", text: `[A part of the answer of ${server} has too many values]` };
    const { data } = block.safeParse(relinkBlock(given, relink));
    return (data as ToolContent | undefined) ?? { type: "text", text: `[A part of the answer of ${server} is none that MCP knows]` };
  });
  const isOther = structuredContent !== undefined && !isRecord(structuredContent);
  if (blocks.length === 0 && isOther) blocks.push({ type: "text", text: JSON.stringify(structuredContent) });
  const texts = blocks.flatMap((one) => (one.type === "text" ? [one.text] : []));
  const value = isRecord(structuredContent) ? structuredContent : texts.length === blocks.length ? texts.join("\n") : blocks;
  const beside = relinkMeta({ ...withoutServer(more), ...(isOther && { structuredContent }) }, relink);
  return {
    ...textResult(value, blocks),
    ...(isRecord(structuredContent) && { structured: structuredContent }),
    ...(isError === true && { isError: true }),
    ...(Object.keys(beside).length > 0 && { beside }),
  };
}

/** Which program answered is said of the answer that the hub sends, by whoever sends it. */
export function withoutServer({ _meta, ...answer }: JsonObject): JsonObject {
  const { "io.modelcontextprotocol/serverInfo": _, ...meta } = isRecord(_meta) ? _meta : {};
  return { ...answer, ...(Object.keys(meta).length > 0 && { _meta: meta }) };
}
