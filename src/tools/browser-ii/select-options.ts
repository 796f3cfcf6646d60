import * as z from "zod";
import { MARKED } from "../../browser/actions/marked.ts";
import { OPTIONS } from "../../browser/actions/options.ts";
import { SELECT_OPTION } from "../../browser/actions/select-option.ts";
import { markOutside } from "../../catalog/outside-text.ts";
import { oneLine } from "../browser/one-line.ts";
import { callBrowser } from "../browser/browser-call.ts";
import type { Called } from "../browser/browser-tool.ts";
import { iiTool } from "./ii-tool.ts";

const INDEX_MAX = 1_000_000;
const OPTION_MAX = 4_096;

const index = z.number().int().min(0).max(INDEX_MAX).describe("The number on the list in the picture");

async function refOf(call: Called, number: number): Promise<string> {
  return (await callBrowser(call, MARKED, { number })).value.ref;
}

export const getSelectOptions = iiTool({
  name: "browser_get_select_options",
  description: "Lists the options of a drop-down list.",
  fields: { index },
  reads: true,
  async run(call, args) {
    const { value } = await callBrowser(call, OPTIONS, { ref: await refOf(call, args.index) });
    const rows = value.options.map(({ label, selected }, at) => `${at}: ${label}${selected ? " (selected)" : ""}`);
    return markOutside([...rows, ...(value.omitted === 0 ? [] : [`${value.omitted} more are left out`])].map(oneLine).join("\n"));
  },
});

export const selectDropdownOption = iiTool({
  name: "browser_select_dropdown_option",
  description: "Selects an option of a drop-down list.",
  fields: { index, option: z.string().max(OPTION_MAX).describe("Its text or value") },
  async run(call, args) {
    const ref = await refOf(call, args.index);
    return (await callBrowser(call, SELECT_OPTION, { ref, values: [args.option] })).value;
  },
});
