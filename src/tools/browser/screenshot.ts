import { findTargetProblem } from "../../browser/actions/fields.ts";
import { type MarkFacts, SCREENSHOT, SCREENSHOT_FIELDS, type ScreenshotValue } from "../../browser/actions/screenshot.ts";
import { markOutside } from "../../catalog/outside-text.ts";
import { oneLine } from "./one-line.ts";
import type { ToolContent } from "../../catalog/tool.ts";
import { textResult } from "../../catalog/tool-result.ts";
import type { CalledAnswer } from "../../browser/driver-connection.ts";
import { callBrowser } from "./browser-call.ts";
import { browserTool } from "./browser-tool.ts";

export const screenshot = browserTool({
  name: "browser_screenshot",
  title: "Take a picture of a page",
  description:
    "A picture of the viewport, one element or the whole page. It is made smaller where it is larger than max_width x max_height; coordinates of actions are pixels of the viewport, as its last line says.",
  fields: SCREENSHOT_FIELDS,
  reads: true,
  findProblem: (args) =>
    findTargetProblem(args, { isOptional: true }) ??
    (args.full_page && (args.ref ?? args.selector) !== undefined ? "a picture is of the whole page or of one element" : undefined),
  value: SCREENSHOT.value,
  async run(call, args) {
    const answer = await callBrowser(call, SCREENSHOT, args);
    return textResult(answer.value, pictureContent(answer));
  },
});

/** The picture, and what stands beside it. */
export function pictureContent({ value, picture }: CalledAnswer<ScreenshotValue>): readonly ToolContent[] {
  const { url, title, width, height, scale, cut, marks } = value;
  const words = markOutside([`url: ${url}`, `title: ${title}`, ...marks.map(tellMark)].map(oneLine).join("\n"));
  const pixels = scale === 1 ? "each one of the page" : `${scale.toFixed(3)} for one of the page`;
  const size = `[The picture has ${width}x${height} pixels, ${pixels}${cut ? "; the page goes on below it" : ""}]`;
  const shown = picture ? [{ type: "image" as const, data: picture.bytes.toString("base64"), mimeType: picture.type }] : [];
  return [...shown, { type: "text", text: `${words}\n${size}` }];
}

function tellMark({ number, ref, role, name, x, y }: MarkFacts): string {
  return `${number}: ${role} ${JSON.stringify(name)} [${ref}] at ${Math.round(x)},${Math.round(y)}`;
}
