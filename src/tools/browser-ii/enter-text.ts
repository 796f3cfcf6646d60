import * as z from "zod";
import { findTargetProblem, TARGET_FIELDS, TEXT_MAX } from "../../browser/actions/fields.ts";
import { TYPE } from "../../browser/actions/type.ts";
import { callBrowser } from "../browser/browser-call.ts";
import type { Called } from "../browser/browser-tool.ts";
import { iiTool } from "./ii-tool.ts";

const TEXTS_MAX = 50;

const FIELDS = {
  text: z.string().max(TEXT_MAX),
  coordinate_x: TARGET_FIELDS.coordinate_x,
  coordinate_y: TARGET_FIELDS.coordinate_y,
  press_enter: z.boolean().optional().describe("Press Enter after it"),
  override: z.boolean().optional().describe("In the place of what the field has"),
};
const Entry = z.strictObject(FIELDS);
type Entry = z.output<typeof Entry>;

const findProblem = (entry: Entry): string | undefined => findTargetProblem(entry, { isOptional: true });

export const enterText = iiTool({
  name: "browser_enter_text",
  description: "Types into the field at a point, or where the focus is.",
  fields: FIELDS,
  findProblem,
  run: enter,
});

export const enterMultiTexts = iiTool({
  name: "browser_enter_multi_texts",
  description: "Types into several fields, one after the other.",
  fields: { enter_texts: z.array(Entry).min(1).max(TEXTS_MAX) },
  findProblem: ({ enter_texts: entries }) => entries.map(findProblem).find((problem) => problem !== undefined),
  async run(call, { enter_texts: entries }) {
    const [first, ...rest] = entries;
    if (!first) return "";
    let done = await enter(call, first);
    for (const entry of rest) done = await enter(call, entry);
    return done;
  },
});

async function enter(call: Called, { press_enter: submit = false, override = false, ...where }: Entry) {
  return (await callBrowser(call, TYPE, { ...where, append: !override, submit })).value;
}
