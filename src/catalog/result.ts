import { BelljarError } from "../errors.ts";
import type { ToolContent, ToolResult } from "./tool.ts";

/** A failure as a model reads it. */
export function errorResult(error: BelljarError): ToolResult {
  const advice = error.retryable ? "\nThe same call may succeed later." : "";
  return { content: [{ type: "text", text: `${error.code}: ${error.message}${advice}` }], isError: true };
}

/** Text blocks hold at most `maxTextBytes` in all; the rest is cut at a line's end, `keep`t, and a last block says where. */
export function shapeResult(result: ToolResult, maxTextBytes: number, keep: (text: string) => string): ToolResult {
  const total = result.content.reduce((sum, block) => sum + textBytes(block), 0);
  if (total <= maxTextBytes) return result;
  const content: ToolContent[] = [];
  let room = maxTextBytes;
  for (const block of result.content) {
    const shaped = block.type === "text" ? { ...block, text: cutAtLine(block.text, room) } : block;
    room -= textBytes(shaped);
    if (shaped.type !== "text" || shaped.text !== "") content.push(shaped);
  }
  const kept = maxTextBytes - room;
  const uri = keep(result.content.map((block) => (block.type === "text" ? block.text : "")).join(""));
  const note = `[Cut: ${kept} of ${total} bytes of text are shown. Read on with read_result, or at ${uri}?offset=${kept}]`;
  return { ...result, content: [...content, { type: "text", text: note }] };
}

/** Rejects with `RESULT_TOO_LARGE` when a result's structure has more than so many characters; all of it is kept, as JSON. */
export function assertStructureFits({ structuredContent }: ToolResult, maxCharacters: number, keep: (text: string) => string): void {
  if (structuredContent === undefined || hasAtMost(structuredContent, maxCharacters)) return;
  const place = `read it as JSON with read_result, uri ${keep(JSON.stringify(structuredContent))}`;
  const advice = "The call was made, so do not make it again to see it; ask for less next time";
  throw new BelljarError("RESULT_TOO_LARGE", `The result has more than ${maxCharacters} characters: ${place}. ${advice}`);
}

/** Counts texts by their length, and everything else as one: what is small need not be serialised to know it. */
function hasAtMost(value: unknown, maxCharacters: number): boolean {
  const left = [value];
  let count = 0;
  while (left.length > 0 && count <= maxCharacters) {
    const next = left.pop();
    count += typeof next === "string" ? next.length : 1;
    if (typeof next !== "object" || next === null) continue;
    for (const [key, inner] of Object.entries(next)) {
      count += key.length;
      left.push(inner);
    }
  }
  return count <= maxCharacters;
}

/** Of its text and data; a result's structure says the same again. */
export function resultBytes({ content }: ToolResult): number {
  return content.reduce((sum, block) => sum + (block.type === "image" ? block.data.length : textBytes(block)), 0);
}

/** Says first what the caller must know before reading the result. */
export function withNotice(notices: readonly string[], result: ToolResult): ToolResult {
  if (notices.length === 0) return result;
  return { ...result, content: [...notices.map((text): ToolContent => ({ type: "text", text })), ...result.content] };
}

/** The longest beginning of whole lines in so many bytes; a first line that is longer is cut between two characters. */
export function cutAtLine(text: string, maxBytes: number): string {
  const bytes = Buffer.from(text);
  if (bytes.length <= maxBytes) return text;
  const lineEnd = bytes.subarray(0, Math.max(0, maxBytes)).lastIndexOf(0x0a);
  return bytes.subarray(0, lineEnd >= 0 ? lineEnd + 1 : characterStart(bytes, Math.max(0, maxBytes))).toString("utf8");
}

/** The nearest start of a UTF-8 character at or before `at`. */
export function characterStart(bytes: Buffer, at: number): number {
  let start = at;
  while (start > 0 && ((bytes[start] ?? 0) & 0xc0) === 0x80) start -= 1;
  return start;
}

function textBytes(block: ToolContent): number {
  return block.type === "text" ? Buffer.byteLength(block.text) : 0;
}
