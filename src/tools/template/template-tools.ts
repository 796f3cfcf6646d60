import type { Tool } from "../../catalog/tool.ts";
import type { Templates } from "../../template/templates.ts";
import { createTemplateBuild } from "./template-build.ts";
import { createTemplateList } from "./template-list.ts";

/** What sandboxes can start from. */
export function templateTools(templates: () => Promise<Templates>): readonly Tool[] {
  return [createTemplateList(templates), createTemplateBuild(templates)];
}
