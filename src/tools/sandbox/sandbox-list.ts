import * as z from "zod";
import type { Tool } from "../../catalog/tool.ts";
import { defineTool } from "../../catalog/tool.ts";
import { LIVE_STATES, SANDBOX_STATES, type Sandboxes } from "../../sandbox/sandbox.ts";
import { fitRows } from "../shown-rows.ts";
import { Listed, toListed } from "./sandbox-results.ts";

const LIMIT = 100;
/** Labels of one sandbox may be long. */
const TEXT_MAX_BYTES = 262_144;

const Input = z.strictObject({
  state_filter: z
    .union([z.enum(SANDBOX_STATES), z.array(z.enum(SANDBOX_STATES)).min(1).max(SANDBOX_STATES.length)])
    .optional()
    .describe("Only those in this state, or in one of these; default all that have not ended"),
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
      const state = filter === undefined ? LIVE_STATES : [filter].flat();
      const infos = await sandboxes.list(context.principal, { state });
      const listed = fitRows(infos.map(toListed), { rows: limit, bytes: TEXT_MAX_BYTES }, (row) => JSON.stringify(row));
      const rest = infos.length - listed.length;
      const text = JSON.stringify(listed);
      const notes = rest > 0 ? [{ type: "text" as const, text: `[${rest} more that are not shown]` }] : [];
      return { content: [{ type: "text", text }, ...notes], structuredContent: { sandboxes: listed } };
    },
  });
}
