import { BelljarError } from "../errors.ts";
import { jsonContent } from "./tool-result.ts";
import type { ToolContent, ToolResult } from "./tool.ts";

/** How large a result may be. */
export interface ResultLimits {
  /** All its texts together, in bytes. */
  readonly textBytes: number;
  /** Of everything else in its content (images, audio, resources), in bytes as they are sent. */
  readonly dataBytes: number;
  /** Of its structure, and of its value, in characters. */
  readonly structureCharacters: number;
}

/** Blocks of content; a model is told how many more there were. */
const BLOCKS_MAX = 1_000;

/** A failure as a model reads it, and as a program does. */
export function errorResult(error: BelljarError): ToolResult {
  const { code, message, retryable } = error;
  const advice = retryable ? "\nThe same call may succeed later." : "";
  return { value: { code, message, retryable }, content: [{ type: "text", text: `${code}: ${message}${advice}` }], isError: true };
}

/**
 * The result within its limits. A long text is cut at the end of a line, and `keep` stores the whole text; a last block says where. A long
 * text as the value is cut in the same way, and its last line says where. A note replaces every other block that does not fit. Rejects
 * with `RESULT_TOO_LARGE` if the structure, its text or another value is too long; all of it is kept.
 */
export function shapeResult(result: ToolResult, limits: ResultLimits, keep: (text: string) => string): ToolResult {
  assertStructureFits(result, limits, keep);
  const uris = new Map<string, string>();
  // A value is most often the text of the content, which is kept once.
  const keepOnce = (text: string): string => {
    const uri = uris.get(text) ?? keep(text);
    uris.set(text, uri);
    return uri;
  };
  const content = cutTexts(leaveOutLarge(result.content, limits), limits.textBytes, keepOnce);
  const value = typeof result.value === "string" ? cutValue(result.value, limits.textBytes, keepOnce) : result.value;
  return { ...result, content, value };
}

/** Its last line says that it was cut, as the content's last text does. */
function cutValue(value: string, maxBytes: number, keep: (text: string) => string): string {
  const shown = cutAtLine(value, maxBytes);
  if (shown === value) return value;
  const [kept, total] = [Buffer.byteLength(shown), Buffer.byteLength(value)];
  const lineEnd = shown === "" || shown.endsWith("\n") ? "" : "\n";
  return `${shown}${lineEnd}${cutNote({ kept, total, uri: keep(value) })}`;
}

function cutNote({ kept, total, uri }: { readonly kept: number; readonly total: number; readonly uri: string }): string {
  return `[Cut: ${kept} of ${total} bytes of text are shown. Read on with read_result ${JSON.stringify({ uri: `${uri}?offset=${kept}` })}]`;
}

/** What a result counts against a quota: its content, or its structure or value when that holds more. */
export function resultBytes({ content, structured, value, beside }: ToolResult): number {
  const shown = content.reduce((sum, block) => sum + blockBytes(block), 0);
  const inner = value === structured ? 0 : bytesOf(value);
  return Math.max(shown, bytesOf(structured), inner) + bytesOf(beside);
}

function leaveOutLarge(content: readonly ToolContent[], { textBytes, dataBytes }: ResultLimits): readonly ToolContent[] {
  let room = dataBytes;
  const fitting = content.slice(0, BLOCKS_MAX).map((block): ToolContent => {
    if (block.type === "text") return block;
    const bytes = blockBytes(block);
    const most = block.type === "resource" && "text" in block.resource ? Math.min(room, textBytes) : room;
    if (bytes > most) return { type: "text", text: `[Left out: ${block.type} of ${bytes} bytes; ${most} bytes were left in this result]` };
    room -= bytes;
    return block;
  });
  const more = content.length - BLOCKS_MAX;
  return more > 0 ? [...fitting, { type: "text", text: `[Left out: ${more} more parts]` }] : fitting;
}

function cutTexts(blocks: readonly ToolContent[], maxBytes: number, keep: (text: string) => string): readonly ToolContent[] {
  const total = blocks.reduce((sum, block) => sum + textBytes(block), 0);
  if (total <= maxBytes) return blocks;
  const content: ToolContent[] = [];
  let room = maxBytes;
  for (const block of blocks) {
    const shaped = block.type === "text" ? { ...block, text: cutAtLine(block.text, room) } : block;
    room -= textBytes(shaped);
    if (shaped.type !== "text" || shaped.text !== "") content.push(shaped);
  }
  const kept = maxBytes - room;
  const uri = keep(blocks.map((block) => (block.type === "text" ? block.text : "")).join(""));
  return [...content, { type: "text", text: cutNote({ kept, total, uri }) }];
}

/** Data is not cut: as JSON no part of it could be read. */
function assertStructureFits(
  { structured, value, content, beside }: ToolResult,
  limits: ResultLimits,
  keep: (text: string) => string,
): void {
  const { structureCharacters: most, textBytes: room } = limits;
  const shownBytes = structured ? content.reduce((sum, block) => sum + textBytes(block), 0) : 0;
  const faces = [structured, typeof value === "string" ? undefined : value, beside];
  const large = shownBytes > room ? structured : faces.find((face) => !hasAtMost(face, most));
  if (large === undefined) return;
  const place = `read it as JSON with read_result, uri ${keep(JSON.stringify(large))}`;
  const advice = "The call was made, so do not make it again to see it; ask for less next time";
  const size = shownBytes > room ? `${room} bytes` : `${most} characters`;
  throw new BelljarError("RESULT_TOO_LARGE", `The result has more than ${size}: ${place}. ${advice}`);
}

/** Counts texts and numbers by their length, and everything else as one. So a small value need not be serialised. */
function hasAtMost(value: unknown, maxCharacters: number): boolean {
  return sizeOf(value, (text) => text.length, maxCharacters) <= maxCharacters;
}

/** Of all texts in it, names of fields too. */
function bytesOf(value: unknown): number {
  return value === undefined ? 0 : sizeOf(value, (text) => Buffer.byteLength(text));
}

/** Counts no further than a little beyond `most`, and calls nothing recursively. */
function sizeOf(value: unknown, measure: (text: string) => number, most = Infinity): number {
  const left = [value];
  let count = 0;
  while (left.length > 0 && count <= most) {
    const next = left.pop();
    count += typeof next === "string" ? measure(next) : typeof next === "number" ? String(next).length : 1;
    if (typeof next !== "object" || next === null) continue;
    for (const [key, inner] of Object.entries(next)) {
      count += measure(key);
      left.push(inner);
    }
  }
  return count;
}

/** Says first what the model must know before it reads the result: in the first block of text, or in the first field of data. */
export function withNotice(notices: readonly string[], result: ToolResult): ToolResult {
  if (notices.length === 0) return result;
  const note = notices.join("\n");
  if (!result.structured) return { ...result, content: [{ type: "text", text: note }, ...result.content] };
  const structured = { note, ...result.structured };
  return { ...result, structured, content: jsonContent(structured) };
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

/** A text counts by itself, every other kind with all its fields: each of them can be long. */
function blockBytes(block: ToolContent): number {
  return block.type === "text" ? textBytes(block) : bytesOf(block);
}

function textBytes(block: ToolContent): number {
  return block.type === "text" ? Buffer.byteLength(block.text) : 0;
}
