import * as z from "zod";
import type { ToolContent, ToolContext } from "../../catalog/tool.ts";
import type { LeftFile, LeftFiles } from "../../interpreter/program.ts";
import type { Room } from "../../interpreter/output-window.ts";
import { countLines } from "../../interpreter/output-window.ts";
import { detectKind } from "../files/file-kind.ts";
import { showName } from "../files/file-row.ts";
import { closeLine } from "../output-text.ts";
import { plainText, tellLeftOut } from "../plain-text.ts";

/** More pictures than a model looks at in one result. */
const PICTURES_MAX = 4;
/** Content of files in a value. As base64 it stays far below what a value may have. */
const VALUE_MAX_BYTES = 1_048_576;

export const LeftFileValue = z.object({
  name: z.string(),
  size: z.number().int(),
  mime_type: z.string().optional().describe("Of a picture"),
  encoding: z.enum(["utf-8", "base64"]).optional(),
  content: z.string().optional().describe("Absent if it is too large"),
});

type FileValue = z.output<typeof LeftFileValue>;

export interface ShownFiles {
  /** Below what a program printed: the texts, and a line for each other file. */
  readonly text: string;
  readonly pictures: readonly ToolContent[];
  readonly values: readonly FileValue[];
}

interface SortedFile {
  readonly file: LeftFile;
  readonly name: string;
  /** Exact. */
  readonly text?: string;
  readonly picture?: string;
}

export interface ShowFilesOptions {
  /** What is left of the result's sizes below the program's output. */
  readonly room: Room;
  /** Texts with the controls of a terminal. */
  readonly raw: boolean;
}

/** As a model is given them: pictures as pictures, texts while there is room, and of every other file its name, size and how to read it. */
export function showFiles({ results }: Pick<ToolContext, "results">, { files, more }: LeftFiles, options: ShowFilesOptions): ShownFiles {
  const sorted = files.map(sortFile);
  const pictures = sorted.filter(({ picture }) => picture !== undefined).slice(0, PICTURES_MAX);
  let room = options.room;
  const parts = sorted.map((shown) => {
    const { name, file, picture } = shown;
    const { text, note } = showText(shown.text, options.raw);
    const left = text === undefined ? undefined : takeRoom(room, text);
    if (text !== undefined && left) {
      room = left;
      return `--- file ${name}${note} ---\n${closeLine(text)}`;
    }
    const place = text === undefined ? undefined : `read it with read_result ${JSON.stringify({ uri: results.keep(text) })}`;
    const kind = picture === undefined ? undefined : `${picture}${pictures.includes(shown) ? "" : ", not shown"}`;
    return `--- file ${name}${note}: ${file.size} bytes, ${place ?? kind ?? (file.content ? "not text" : "too large to bring back")} ---\n`;
  });
  if (more > 0) parts.push(`--- ${more} more files were left, and are gone ---\n`);
  return { text: parts.join(""), pictures: pictures.map(toPicture), values: toValues(sorted) };
}

/** As output is shown. The note is for the line above. */
function showText(exact: string | undefined, raw: boolean): { readonly text: string | undefined; readonly note: string } {
  if (exact === undefined || raw) return { text: exact, note: "" };
  const plain = plainText(exact, Buffer.byteLength(exact));
  return {
    text: plain.text,
    note: tellLeftOut([plain], true)
      .map((told) => ` (${told})`)
      .join(""),
  };
}

/** What is left below the text and the line above it; undefined if it does not fit. */
function takeRoom({ bytes, lines }: Room, text: string): Room | undefined {
  const left = { bytes: bytes - Buffer.byteLength(text), lines: lines - countLines(text) - 1 };
  return left.bytes >= 0 && left.lines >= 0 ? left : undefined;
}

function sortFile(file: LeftFile): SortedFile {
  const name = showName(file.name);
  const kind = file.content && detectKind(file.content);
  if (kind?.kind === "image") return { file, name, picture: kind.mimeType };
  const text = file.content && decodeText(file.content);
  return { file, name, ...(text !== undefined && { text }) };
}

function decodeText(bytes: Buffer): string | undefined {
  if (bytes.includes(0)) return undefined;
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

function toPicture({ file, picture = "" }: SortedFile): ToolContent {
  return { type: "image", data: (file.content ?? Buffer.alloc(0)).toString("base64"), mimeType: picture };
}

function toValues(sorted: readonly SortedFile[]): readonly FileValue[] {
  let room = VALUE_MAX_BYTES;
  return sorted.map(({ file, text, picture }) => {
    const facts = { name: file.name, size: file.size, ...(picture !== undefined && { mime_type: picture }) };
    if (!file.content || file.content.length > room) return facts;
    room -= file.content.length;
    if (text !== undefined) return { ...facts, encoding: "utf-8", content: text };
    return { ...facts, encoding: "base64", content: file.content.toString("base64") };
  });
}
