import type { Readable } from "node:stream";
import * as z from "zod";
import { BelljarError } from "../../errors.ts";
import { CODE_BYTES_MAX } from "../../dynamic/store/stored-unit.ts";
import { noUserTools, type UnitLife } from "../../dynamic/unit-life.ts";
import { allUnits } from "../../dynamic/unit-pages.ts";
import { parseNetworkPolicy } from "../../network/check-policy.ts";
import type { Principal } from "../../sandbox/sandbox.ts";
import { changes } from "../auth/access.ts";
import type { Asked, Route } from "./route.ts";
import { defineRoute } from "./route.ts";

const ACCESS = changes("toolset:tools");
/** Too much code is read to its end, so that its sender surely gets the answer. More than this is cut off. */
const UPLOAD_BYTES_MAX = 16 * 1_048_576;

/** 0: done, 1: it is there already, or is not there, 2: it cannot be. */
type Result = 0 | 1 | 2;

/** Which names a unit may have is no matter of the request's form: a bad one is an answer. */
const query = z.object({ mcp_tool_name: z.string() });
const addQuery = query.extend({
  network: z
    .string()
    .optional()
    .describe("Belljar's own addition: what its calls reach, as `sandbox create --network` takes it. Default `none`"),
});
const removed = z.object({ result: z.union([z.literal(0), z.literal(1), z.literal(2)]), error: z.string() });
const added = removed.extend({ transport: z.enum(["sse", "streamable-http"]), mcp_box_url: z.string() });

export interface McpBoxOptions {
  readonly userTools?: (() => Promise<UnitLife>) | undefined;
  readonly legacySse: boolean;
  /** The port of MCP as a URL has it, if these routes have another one. */
  readonly mcpPort?: () => string;
}

/** Tools as MCP Box adds and removes them: the query's name is the unit's, and an answer that stays so is a 200. */
export function mcpBoxRoutes({ userTools = noUserTools, ...served }: McpBoxOptions): readonly Route[] {
  const paths = (name: string): readonly string[] => [`/${name}`, `/${name}/`];
  const add = (path: string): Route =>
    defineRoute({
      method: "POST",
      path,
      access: ACCESS,
      summary:
        "Adds a Python tool, which goes live at once, as MCP Box does. `result` is 0; 1 if there is one of the name; 2 if it cannot be. `network` (Belljar's own): what its calls reach",
      query: addQuery,
      takes: { types: ["text/plain"], limitBytes: UPLOAD_BYTES_MAX },
      answers: { 200: added },
      handle: async (asked) => ({ ...(await addTool(await userTools(), asked)), ...serverOf(asked.origin, served) }),
    });
  const remove = (path: string): Route =>
    defineRoute({
      method: "POST",
      path,
      access: ACCESS,
      summary: "Removes a tool as MCP Box does, by its own name or by that of its only function. `result` is 1 if there is none",
      query,
      answers: { 200: removed },
      handle: async ({ caller, query: { mcp_tool_name: name } }) => outcome(async () => removeTool(await userTools(), caller, name)),
    });
  return [...paths("add_mcp_tool").map(add), ...paths("remove_mcp_tool").map(remove)];
}

type AddRequest = Asked<unknown, z.output<typeof addQuery>>;

function addTool(life: UnitLife, { caller, query: { mcp_tool_name: name, network }, body, signal }: AddRequest) {
  return outcome(async () => {
    // As it comes: no schema describes what is no JSON.
    const code = await readText(body as Readable);
    const spec = { language: "python", code, ...(network !== undefined && { network: parseNetworkPolicy(network) }) } as const;
    await life.add(caller, { name, spec }, signal, { publish: true });
  });
}

/** With several functions only the unit's name removes it. */
async function removeTool(life: UnitLife, caller: Principal, name: string): Promise<void> {
  try {
    await life.remove(caller, name);
  } catch (cause) {
    if (!(cause instanceof BelljarError) || cause.code !== "TOOL_NOT_FOUND") throw cause;
    const { tools: units } = await allUnits(life, caller);
    const unit = units.find(({ tools: [tool, ...more] }) => tool?.name === name && more.length === 0);
    if (!unit) throw cause;
    await life.remove(caller, unit.name);
  }
}

async function outcome(work: () => Promise<void>): Promise<z.output<typeof removed>> {
  try {
    await work();
    return { result: 0, error: "" };
  } catch (cause) {
    // What the server does wrong and what may succeed later is no answer of this API's, and whoever may not ask is refused as everywhere.
    if (!(cause instanceof BelljarError) || cause.retryable || cause.code === "INTERNAL" || cause.code === "FORBIDDEN") throw cause;
    return { result: resultOf(cause), error: cause.message };
  }
}

function resultOf({ code }: BelljarError): Result {
  return code === "TOOL_NAME_TAKEN" || code === "TOOL_NOT_FOUND" ? 1 : 2;
}

/** Throws `TOOL_INVALID` for what is too much, and for what is no UTF-8. */
async function readText(body: Readable): Promise<string> {
  const parts: Buffer[] = [];
  let size = 0;
  for await (const part of body as AsyncIterable<Buffer>) {
    size += part.length;
    if (size <= CODE_BYTES_MAX) parts.push(part);
  }
  if (size > CODE_BYTES_MAX) throw new BelljarError("TOOL_INVALID", "The code has more than 1 MiB");
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(Buffer.concat(parts));
  } catch (cause) {
    throw new BelljarError("TOOL_INVALID", "The code is no UTF-8", { cause });
  }
}

function serverOf(
  origin: string,
  { legacySse, mcpPort }: Omit<McpBoxOptions, "userTools">,
): Pick<z.output<typeof added>, "transport" | "mcp_box_url"> {
  const url = new URL(legacySse ? "/sse" : "/mcp", origin);
  if (mcpPort) url.port = mcpPort();
  return { transport: legacySse ? "sse" : "streamable-http", mcp_box_url: url.href };
}
