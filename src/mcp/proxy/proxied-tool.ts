import * as z from "zod";
import type { JsonSchemas } from "../../catalog/json-schemas.ts";
import { refusalOf } from "../../catalog/refusal.ts";
import { errorResult } from "../../catalog/result.ts";
import type { Tool, ToolContext, ToolResult } from "../../catalog/tool.ts";
import { BelljarError } from "../../errors.ts";
import type { HubSettings } from "./hub-settings.ts";
import type { JsonObject } from "../client/json-object.ts";
import { type Relink, relinkMeta } from "./relay/relink.ts";
import { toResult } from "./relay/to-result.ts";

/** The toolset of other servers' tools, for scopes of tokens. */
export const PROXIED_TOOLSET = "mcp";

const DESCRIPTION_MAX = 2_047;
const TITLE_MAX = 200;

/** Others pass as they came. */
const hints = z.looseObject({
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

/** Beside these, and what is said of tasks: the hub offers none. */
const READ = new Set([...Object.keys(definitionSchema.shape), "execution"]);
const BESIDE_BYTES_MAX = 65_536;

/** What the definition has beside, as it came. Undefined if there is nothing, or more than lists can take. */
export function besideOf(definition: JsonObject): JsonObject | undefined {
  const beside = Object.entries(definition).filter(([key]) => !READ.has(key));
  const isTaken = beside.length > 0 && Buffer.byteLength(JSON.stringify(beside)) <= BESIDE_BYTES_MAX;
  return isTaken ? Object.fromEntries(beside) : undefined;
}

export interface ProxiedToolOptions {
  /** What callers call it. */
  readonly name: string;
  readonly server: string;
  /** The id of whoever owns the server. */
  readonly owner: string;
  /** What callers call it on its server. */
  readonly shown: string;
  readonly definition: Definition;
  /** What the definition has beside. */
  readonly beside: JsonObject | undefined;
  /** Which calls a person approves. */
  readonly approve: HubSettings["approve"];
  readonly schemas: JsonSchemas;
  /** For a caller; without one for the owner, who looks at the list. */
  readonly relink: (caller?: Pick<ToolContext, "principal">) => Relink;
  /** Asks the server, and gives its answer as it came. */
  readonly call: (context: ToolContext, args: JsonObject) => Promise<JsonObject>;
}

/** A tool of another server, for the catalog. Throws `ARGUMENTS_INVALID` for a schema that cannot be used. */
export function proxiedTool(options: ProxiedToolOptions): Tool {
  const { name, server, owner, shown: tool, definition, approve, schemas, beside, relink } = options;
  const { title, description, inputSchema, outputSchema, annotations } = definition;
  const shown = title ?? annotations?.title?.slice(0, TITLE_MAX) ?? definition.name.slice(0, TITLE_MAX);
  const isReadOnly = annotations?.readOnlyHint === true;
  // A server that does not say that a tool destroys nothing has said nothing.
  const isDestructive = !isReadOnly && annotations?.destructiveHint !== false;
  // Two owners may have servers of one name.
  const checker = JSON.stringify(["mcp", owner, server]);
  return {
    name,
    title: shown,
    description: description ?? shown,
    toolset: PROXIED_TOOLSET,
    origin: "proxied",
    from: { server, tool },
    serverOwner: owner,
    // Which URIs are those of several servers changes with their lists.
    ...(beside && {
      get beside() {
        return relinkMeta(beside, relink());
      },
    }),
    ...((approve === "always" || (approve === "destructive" && isDestructive)) && { needsApproval: true }),
    annotations: {
      ...besideHints(annotations),
      readOnlyHint: isReadOnly,
      destructiveHint: isDestructive,
      idempotentHint: annotations?.idempotentHint ?? false,
      openWorldHint: annotations?.openWorldHint ?? true,
    },
    input: schemas.readLater(inputSchema, checker),
    // What is shown as the schema of a result must be one of an object.
    ...(outputSchema?.["type"] === "object" && { output: schemas.readLater(outputSchema, checker) }),
    run: (context, args) => run(options, context, args as JsonObject),
  };
}

/** What annotations have that Belljar does not read, as it came, and their title. Nothing, if it is more than lists can take. */
function besideHints(annotations: Definition["annotations"]): JsonObject {
  const { title, ...others } = annotations ?? {};
  const beside = { ...others, ...(title !== undefined && { title: title.slice(0, TITLE_MAX) }) };
  return Buffer.byteLength(JSON.stringify(beside)) <= BESIDE_BYTES_MAX ? beside : {};
}

/** A refusal is a result: a model reads why, and a client of MCP gets the server's own error. */
async function run({ server, call, relink }: ProxiedToolOptions, context: ToolContext, args: JsonObject): Promise<ToolResult> {
  try {
    return toResult(server, await call(context, args), relink(context));
  } catch (error) {
    const refusal = refusalOf(error);
    if (!refusal || !(error instanceof BelljarError)) throw error;
    return { ...errorResult(error), refusal };
  }
}
