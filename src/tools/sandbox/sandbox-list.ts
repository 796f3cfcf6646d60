import * as z from "zod";
import type { Tool } from "../../catalog/tool.ts";
import { defineDataTool } from "../../catalog/tool.ts";
import { dataResult } from "../../catalog/tool-result.ts";
import { LIVE_STATES, type SandboxPage, SANDBOX_STATES, type Sandboxes } from "../../sandbox/sandbox.ts";
import { SHOWN_BYTES } from "../max-bytes.ts";
import { fitRows } from "../shown-rows.ts";
import { Listed, toListed } from "./sandbox-results.ts";

const LIMIT = 100;

const Input = z.strictObject({
  state_filter: z
    .union([z.enum(SANDBOX_STATES), z.array(z.enum(SANDBOX_STATES)).min(1).max(SANDBOX_STATES.length)])
    .optional()
    .describe("Only those in this state, or in one of these; default all that have not ended"),
  cursor: z.string().min(1).max(256).optional().describe("next_cursor of the page before"),
  limit: z.number().int().min(1).max(1_000).optional().describe(`Most to return; default ${LIMIT}`),
});

export function createSandboxList(sandboxes: Pick<Sandboxes, "list">): Tool {
  return defineDataTool({
    name: "sandbox_list",
    title: "List sandboxes",
    description: "Lists your sandboxes, the newest first, your default one among them: each one's id, state, template, limits and labels.",
    toolset: "sandbox",
    annotations: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
    listsOrEnds: true,
    input: Input,
    output: z.object({ sandboxes: z.array(Listed), next_cursor: z.string().optional().describe("Ask with it for the next page") }),
    async run(context, { state_filter: states, cursor, limit = LIMIT }) {
      const filter = { state: states === undefined ? LIVE_STATES : [states].flat() };
      const ask = (most: number) => sandboxes.list(context.principal, { filter, cursor, limit: most });
      const page = await ask(limit);
      const fitting = fitRows(page.sandboxes.map(toListed), { rows: limit, bytes: SHOWN_BYTES }, (row) => JSON.stringify(row));
      // The cursor must stand behind the last one that is shown.
      const shown = fitting.length < page.sandboxes.length ? await ask(Math.max(1, fitting.length)) : page;
      return dataResult(toPage(shown));
    },
  });
}

function toPage({ sandboxes, nextCursor }: SandboxPage) {
  return { sandboxes: sandboxes.map(toListed), ...(nextCursor !== undefined && { next_cursor: nextCursor }) };
}
