import * as z from "zod";
import type { Tool } from "../../catalog/tool.ts";
import { defineDataTool } from "../../catalog/tool.ts";
import { dataResult } from "../../catalog/tool-result.ts";
import type { Templates } from "../../template/templates.ts";
import { fitShown } from "../sandbox/state-results.ts";
import { ShownTemplate, toShownTemplate } from "./template-results.ts";

const Output = z.object({
  templates: z.array(ShownTemplate),
  omitted: z.number().int().optional().describe("Further ones that are not shown"),
});

export function createTemplateList(templates: () => Promise<Templates>): Tool {
  return defineDataTool({
    name: "template_list",
    title: "List templates",
    description: [
      "Lists your templates, and those that others share: what sandboxes can start from beside `base`, which has this machine's own programs.",
      "sandbox_create takes the name of one as `template`.",
    ].join("\n"),
    toolset: "template",
    annotations: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
    listsOrEnds: true,
    input: z.strictObject({}),
    output: Output,
    async run({ principal }) {
      const all = (await (await templates()).list(principal)).map((one) => toShownTemplate(one, principal));
      const shown = fitShown(all);
      return dataResult({ templates: shown, ...(shown.length < all.length && { omitted: all.length - shown.length }) });
    },
  });
}
