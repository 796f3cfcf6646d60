import type { Tool } from "../../catalog/tool.ts";
import { createToolDraft } from "./tool-draft.ts";
import { createToolGet } from "./tool-get.ts";
import { createToolList } from "./tool-list.ts";
import { createToolPublish, type ToolPublishOptions } from "./tool-publish.ts";
import { createToolTest } from "./tool-test.ts";

/** With which an agent writes tools for its user. */
export function userTools(options: ToolPublishOptions): readonly Tool[] {
  const { life } = options;
  return [createToolDraft(life), createToolTest(life), createToolPublish(options), createToolList(life), createToolGet(life)];
}
