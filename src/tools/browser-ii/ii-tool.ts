import type * as z from "zod";
import type { ChangeFacts } from "../../browser/actions/change.ts";
import { Change } from "../../browser/actions/change.ts";
import { SCREENSHOT } from "../../browser/actions/screenshot.ts";
import type { TextResult } from "../../catalog/tool.ts";
import { textResult } from "../../catalog/tool-result.ts";
import { callBrowser } from "../browser/browser-call.ts";
import { browserTool, type BrowserTool, type Called, type ToolHead } from "../browser/browser-tool.ts";
import { changeText } from "../browser/change-text.ts";
import { pictureContent } from "../browser/screenshot.ts";
import { BROWSER_II } from "../toolsets.ts";

interface IiTool<Fields extends z.ZodRawShape> extends Omit<ToolHead<Fields>, "title" | "toolset"> {
  /** Answers what it changed, or a text. */
  readonly run: (call: Called, args: z.output<z.ZodObject<Fields>>) => Promise<ChangeFacts | string>;
}

/** A tool of `browser-ii`: it answers a text, and a picture with a number on each element that can be acted on. */
export function iiTool<Fields extends z.ZodRawShape>({ run, ...head }: IiTool<Fields>): BrowserTool {
  return browserTool({
    ...head,
    title: titleOf(head.name),
    toolset: BROWSER_II,
    value: Change.partial(),
    run: async (call, args) => withPicture(call, await run(call, args)),
  });
}

/** A page that a dialog holds has no picture. */
async function withPicture(call: Called, done: ChangeFacts | string): Promise<TextResult> {
  const [value, text] = typeof done === "string" ? [{}, done] : [done, changeText(done)];
  if (typeof done !== "string" && done.dialog) return textResult(value, text);
  const picture = await callBrowser(call, SCREENSHOT, { marks: true });
  return textResult(value, [...(text === "" ? [] : [{ type: "text" as const, text }]), ...pictureContent(picture)]);
}

function titleOf(name: string): string {
  const words = name.replaceAll("_", " ");
  return `${words.slice(0, 1).toUpperCase()}${words.slice(1)}`;
}
