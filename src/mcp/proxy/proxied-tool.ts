import * as z from "zod";
import type { JsonSchemas } from "../../catalog/json-schemas.ts";
import { isNestedTooDeep } from "../../catalog/nesting.ts";
import { textResult } from "../../catalog/tool-result.ts";
import type { Tool, ToolContent, ToolContext, ToolResult } from "../../catalog/tool.ts";
import { BelljarError } from "../../errors.ts";
import type { HubSettings } from "./hub-settings.ts";
import { isRecord } from "../client/config/is-record.ts";
import type { JsonObject } from "../client/json-object.ts";

/** The toolset of other servers' tools, for scopes of tokens. */
export const PROXIED_TOOLSET = "mcp";

const DESCRIPTION_MAX = 2_047;
const TITLE_MAX = 200;

const hints = z.object({
  title: z.string().optional().catch(undefined),
  readOnlyHint: z.boolean().optional().catch(undefined),
  destructiveHint: z.boolean().optional().catch(undefined),
  idempotentHint: z.boolean().optional().catch(undefined),
  openWorldHint: z.boolean().optional().catch(undefined),
});

/** What a server says of one of its tools; `name` is what it calls it. */
export const definitionSchema = z.object({
  name: z.string().min(1).max(1_000),
  title: z
    .string()
    .transform((text) => text.slice(0, TITLE_MAX))
    .optional()
    .catch(undefined),
  description: z
    .string()
    .transform((text) => text.slice(0, DESCRIPTION_MAX))
    .optional()
    .catch(undefined),
  inputSchema: z.record(z.string(), z.unknown()),
  outputSchema: z.record(z.string(), z.unknown()).optional().catch(undefined),
  annotations: hints.optional().catch(undefined),
});

export type Definition = z.output<typeof definitionSchema>;

export interface ProxiedToolOptions {
  /** What callers call it. */
  readonly name: string;
  readonly server: string;
  /** What callers call it on its server. */
  readonly shown: string;
  readonly definition: Definition;
  /** Which calls a person approves. */
  readonly approve: HubSettings["approve"];
  readonly schemas: JsonSchemas;
  /** Asks the server, and gives its answer as it came. */
  readonly call: (context: ToolContext, args: JsonObject) => Promise<JsonObject>;
}

/** A tool of another server, for the catalog. Throws `ARGUMENTS_INVALID` for a schema that cannot be used. */
export function proxiedTool({ name, server, shown: tool, definition, approve, schemas, call }: ProxiedToolOptions): Tool {
  const { title, description, inputSchema, outputSchema, annotations } = definition;
  const shown = title ?? annotations?.title?.slice(0, TITLE_MAX) ?? definition.name.slice(0, TITLE_MAX);
  const isReadOnly = annotations?.readOnlyHint === true;
  // A server that does not say that a tool destroys nothing has said nothing.
  const isDestructive = !isReadOnly && annotations?.destructiveHint !== false;
  return {
    name,
    title: shown,
    description: description ?? shown,
    toolset: PROXIED_TOOLSET,
    origin: "proxied",
    from: { server, tool },
    ...((approve === "always" || (approve === "destructive" && isDestructive)) && { needsApproval: true }),
    annotations: {
      readOnlyHint: isReadOnly,
      destructiveHint: isDestructive,
      idempotentHint: annotations?.idempotentHint ?? false,
      openWorldHint: annotations?.openWorldHint ?? true,
    },
    input: schemas.readLater(inputSchema, `mcp ${server}`),
    // What is shown as the schema of a result must be one of an object.
    ...(outputSchema?.["type"] === "object" && { output: schemas.readLater(outputSchema, `mcp ${server}`) }),
    run: async (context, args) => toResult(server, await call(context, args as JsonObject)),
  };
}

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
export function toResult(server: string, { content, structuredContent, isError }: JsonObject): ToolResult {
  if (isNestedTooDeep([content, structuredContent]))
    throw new BelljarError("SERVER_INCOMPATIBLE", `The server "${server}" answered with something that is nested too deep`);
  const blocks = (Array.isArray(content) ? content : []).map((given): ToolContent => {
    const { data } = block.safeParse(given);
    return (data as ToolContent | undefined) ?? { type: "text", text: `[A part of the answer of ${server} is none that MCP knows]` };
  });
  if (blocks.length === 0 && Array.isArray(structuredContent)) blocks.push({ type: "text", text: JSON.stringify(structuredContent) });
  const texts = blocks.flatMap((one) => (one.type === "text" ? [one.text] : []));
  const value = isRecord(structuredContent) ? structuredContent : texts.length === blocks.length ? texts.join("\n") : blocks;
  return {
    ...textResult(value, blocks),
    ...(isRecord(structuredContent) && { structured: structuredContent }),
    ...(isError === true && { isError: true }),
  };
}
