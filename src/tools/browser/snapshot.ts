import { findTargetProblem } from "../../browser/actions/fields.ts";
import { SNAPSHOT, SNAPSHOT_FIELDS } from "../../browser/actions/snapshot.ts";
import { markOutside } from "../../catalog/outside-text.ts";
import { oneLine } from "./one-line.ts";
import { textResult } from "../../catalog/tool-result.ts";
import { callBrowser } from "./browser-call.ts";
import { browserTool } from "./browser-tool.ts";

export const snapshot = browserTool({
  name: "browser_snapshot",
  title: "Read a page in the browser",
  description: [
    "Answers what the page shows as a tree of roles, names and states, with references (e12) that actions take: what is in view first, then",
    "what can be acted on, then headings. The last line names what was left out, and how to read on. ref or selector: that part alone.",
  ].join("\n"),
  fields: SNAPSHOT_FIELDS,
  reads: true,
  findProblem: (args) => findTargetProblem(args, { isOptional: true }),
  value: SNAPSHOT.value,
  async run(call, args) {
    const { value } = await callBrowser(call, SNAPSHOT, args);
    return textResult(value, markOutside([oneLine(`url: ${value.url}`), oneLine(`title: ${value.title}`), value.text].join("\n")));
  },
});
