import * as z from "zod";
import { cutAtLine } from "../../../catalog/result.ts";
import type { ToolContent, ToolContext, ToolResult } from "../../../catalog/tool.ts";
import { contentBlock } from "../../../dynamic/harness/harness-messages.ts";

const BLOCKS_MAX = 100;
const blocks = z.union([z.array(contentBlock).min(1).max(BLOCKS_MAX), contentBlock.transform((block) => [block])]);

/**
 * What a tool's function gives a script: its structure, or its value; else its text, or its blocks where it has others than texts. Of a failure
 * the code and the text.
 */
export function toScriptResult({ value, structured, content, isError = false }: ToolResult): ToolResult {
  if (isError) return { value: { code: codeOf(value) }, content: content.filter(({ type }) => type === "text"), isError };
  const hasOthers = content.some(({ type }) => type !== "text");
  return { value: structured ?? (typeof value === "string" && hasOthers ? content : value), content: [] };
}

function codeOf(value: unknown): string {
  const code = typeof value === "object" && value !== null && "code" in value ? value.code : undefined;
  return typeof code === "string" ? code : "TOOL_FAILED";
}

/** What a script returned, as a model is shown it: a text as it is, blocks of content as blocks, anything else as JSON on one line. */
export function returnedContent(value: unknown): readonly ToolContent[] {
  if (value === undefined || value === null)
    return [{ type: "text", text: "The script returned nothing: give back what you want to see with `return`" }];
  if (typeof value === "string") return [{ type: "text", text: value }];
  const { data } = blocks.safeParse(value);
  return (data as readonly ToolContent[] | undefined) ?? [{ type: "text", text: JSON.stringify(value) }];
}

/** The texts within so many bytes together. All of a longer text is kept, and its end says how to read on. */
export function boundTexts(
  content: readonly ToolContent[],
  most: number,
  { results }: Pick<ToolContext, "results">,
): readonly ToolContent[] {
  let room = most;
  return content.map((block) => {
    if (block.type !== "text") return block;
    const { text } = block;
    const shown = cutAtLine(text, room);
    room -= Buffer.byteLength(shown);
    if (shown === text) return block;
    const kept = Buffer.byteLength(shown);
    const read = JSON.stringify({ uri: `${results.keep(text)}?offset=${kept}` });
    return {
      type: "text",
      text: `${shown}\n[Cut: ${kept} of ${Buffer.byteLength(text)} bytes are shown. Read on with read_result ${read}]`,
    };
  });
}
