import * as z from "zod";
import type { Tool } from "../../catalog/tool.ts";
import { defineTool } from "../../catalog/tool.ts";
import type { Sandboxes } from "../../sandbox/sandbox.ts";
import { fitRows } from "../shown-rows.ts";
import { Listed, toListed } from "./sandbox-results.ts";

const LIMIT = 100;
/** Labels of one sandbox may be long. */
const TEXT_MAX_BYTES = 262_144;
const STATES = ["running", "paused", "ended"] as const;

const Input = z.strictObject({
  state_filter: z
    .union([z.enum(STATES), z.array(z.enum(STATES)).min(1).max(3)])
    .optional()
    .describe("Only those in this state, or in one of these; default running and paused"),
  limit: z.number().int().min(1).max(1_000).optional().describe(`Most to return; default ${LIMIT}`),
});

export function createSandboxList(sandboxes: Pick<Sandboxes, "list">): Tool {
  return defineTool({
    name: "sandbox_list",
    title: "List sandboxes",
    description:
      "Lists your sandboxes, the newest first, your default one among them: a JSON array with each one's id, state, template, limits and labels.",
    toolset: "sandbox",
    annotations: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
    listsOrEnds: true,
    input: Input,
    output: z.object({ sandboxes: z.array(Listed) }),
    async run(context, { state_filter: filter, limit = LIMIT }) {
      const state = filter === undefined ? (["running", "paused"] as const) : [filter].flat();
      const infos = await sandboxes.list(context.principal, { state });
      const listed = fitRows(infos.map(toListed), { rows: limit, bytes: TEXT_MAX_BYTES }, (row) => JSON.stringify(row));
      const rest = infos.length - listed.length;
      const text = JSON.stringify(listed);
      const notes = rest > 0 ? [{ type: "text" as const, text: `[${rest} more that are not shown]` }] : [];
      return { content: [{ type: "text", text }, ...notes], structuredContent: { sandboxes: listed } };
    },
  });
}
