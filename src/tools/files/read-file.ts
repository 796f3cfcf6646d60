import * as z from "zod";
import type { Tool, ToolContext, TextResult } from "../../catalog/tool.ts";
import { defineTool } from "../../catalog/tool.ts";
import { textResult } from "../../catalog/tool-result.ts";
import { BelljarError } from "../../errors.ts";
import { acceptLines } from "../other-names.ts";
import { maxBytesArgument, SHOWN_BYTES, SHOWN_LINES } from "../max-bytes.ts";
import { DEFAULT_SANDBOX, sandboxArgument } from "../sandbox-argument.ts";
import type { Sandbox } from "../../sandbox/sandbox.ts";
import { pathArgument, toAbsolute } from "../sandbox-path.ts";
import { detectKind, peek } from "./file-kind.ts";
import { readImage } from "./read-image.ts";
import { drawPdfPage, readPdfText } from "./read-pdf.ts";
import type { LineSlice } from "./read-lines.ts";
import { readLines } from "./read-lines.ts";

const LAST_LINE = Number.MAX_SAFE_INTEGER;
const OTHER = { kind: "other" } as const;

const Input = z
  .strictObject({
    path: pathArgument("File to read"),
    start_line: z.number().int().min(1).max(LAST_LINE).optional().describe("First line to return, from 1"),
    end_line: z.number().int().min(1).max(LAST_LINE).optional().describe("Last line to return"),
    line_numbers: z.boolean().optional().describe("Put its number and a tab before each line"),
    encoding: z
      .enum(["utf-8", "latin1", "base64"])
      .optional()
      .describe("Absent: text, an image, the text of a PDF, or what other bytes are. Present: the bytes in that encoding"),
    page: z.number().int().min(1).max(100_000).optional().describe("Of a PDF: this page as a picture"),
    max_bytes: maxBytesArgument(),
    sandbox: sandboxArgument(DEFAULT_SANDBOX),
  })
  .superRefine((args, context) => {
    if ((args.end_line ?? LAST_LINE) < (args.start_line ?? 1)) {
      context.addIssue({ code: "custom", path: ["end_line"], message: "is before start_line" });
    }
    const hasLines = args.start_line !== undefined || args.end_line !== undefined || args.line_numbers === true;
    if (args.encoding === "base64" && hasLines) {
      context.addIssue({
        code: "custom",
        path: ["encoding"],
        message: "base64 has no lines; leave out start_line, end_line and line_numbers",
      });
    }
  });

const Output = z.object({
  path: z.string(),
  content: z.string(),
  encoding: z.enum(["utf-8", "latin1", "base64"]),
  size: z.number().int().describe("Bytes of the whole file"),
  start_line: z.number().int().nullable().describe("null with base64"),
  end_line: z.number().int().nullable().describe("null with base64"),
  truncated: z.boolean(),
  mime_type: z.string().optional().describe("Of an image, which is its own content block, and of a PDF, whose text is the content"),
});

type Arguments = z.output<typeof Input>;
type Encoding = z.output<typeof Output>["encoding"];

export function createReadFile(): Tool {
  return defineTool({
    name: "read_file",
    title: "Read a file",
    description: [
      "Returns the exact text of a file in your sandbox, or some of its lines with start_line and end_line.",
      `Of a file of more than max_bytes the first lines come back, and the last line says the call that reads on.`,
      "Images (PNG, JPEG, GIF, WebP) come as images, PDFs as their text or a page as a picture where the sandbox has",
      "poppler-utils; of other binary files it says what they are. Line ends are kept as they are.",
    ].join("\n"),
    toolset: "files",
    annotations: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
    accept: acceptLines,
    input: Input,
    value: Output,
    run: readFile,
  });
}

async function readFile(context: ToolContext, args: Arguments): Promise<TextResult> {
  const sandbox = await context.sandbox(args.sandbox);
  const source = { sandbox, signal: context.signal, args, maxBytes: args.max_bytes ?? SHOWN_BYTES };
  const opened = await openSource(source);
  const kind = args.encoding === undefined ? detectKind(opened.head) : OTHER;
  if (kind.kind === "image") {
    opened.close();
    return readImage(sandbox, { path: args.path, mimeType: kind.mimeType, signal: context.signal });
  }
  if (kind.kind === "pdf") {
    opened.close();
    return (await readPdf(source, opened.size)) ?? describeBytes(source, opened, NO_PDF_READER, "");
  }
  if (args.page !== undefined) {
    opened.close();
    throw new BelljarError(
      "ARGUMENTS_INVALID",
      `"${args.path}" is not read as a PDF, and has no page; leave out page, and encoding too if it is a PDF`,
    );
  }
  return readText(source, opened);
}

interface Source {
  readonly sandbox: Sandbox;
  readonly signal: AbortSignal;
  readonly args: Arguments;
  readonly maxBytes: number;
}

/** All hosts show so many. Who names `max_bytes` has a host that shows more. */
function shownLines(args: Arguments): number | undefined {
  return args.max_bytes === undefined ? SHOWN_LINES : undefined;
}

interface Opened {
  readonly head: Buffer;
  readonly all: AsyncIterable<Buffer>;
  readonly size: number;
  close(): void;
}

async function openSource({ sandbox, signal, args, maxBytes }: Source): Promise<Opened> {
  const fromStart = (args.start_line ?? 1) === 1;
  const { info, content } = await sandbox.guest.files.open(args.path, { signal, ...(fromStart && { limit: maxBytes + 1 }) });
  return { ...(await peek(content)), size: info.size };
}

/** Its text, or a page of it as a picture: one that is asked for, or the first of a PDF without text. Undefined without the programs. */
async function readPdf({ sandbox, signal, args, maxBytes }: Source, size: number): Promise<TextResult | undefined> {
  const { page, start_line: startLine = 1, end_line: endLine = LAST_LINE } = args;
  const pdf = { sandbox, path: args.path, signal };
  const text = page === undefined ? await readPdfText(pdf, { startLine, endLine, maxBytes, maxLines: shownLines(args) }) : undefined;
  if (text && (text.slice.isCut || startLine > 1 || text.text.trim() !== "")) {
    return toToolResult({ sandbox, args, ...text, size, encoding: "utf-8", mimeType: "application/pdf" });
  }
  return drawPdfPage(pdf, page ?? 1);
}

async function readText(source: Source, { head, all, size }: Opened): Promise<TextResult> {
  const { sandbox, args, maxBytes } = source;
  const { encoding = "utf-8", start_line: startLine = 1, end_line: endLine = LAST_LINE } = args;
  const isBase64 = encoding === "base64";
  const maxLines = isBase64 ? undefined : shownLines(args);
  const room = isBase64 ? toBase64Room(maxBytes) : maxBytes;
  const slice = await readLines(all, {
    startLine,
    endLine: isBase64 ? LAST_LINE : endLine,
    maxBytes: room,
    maxLines,
    wholeLines: !isBase64,
  });
  const text = encoding === "utf-8" ? decodeUtf8(slice) : slice.bytes.toString(encoding);
  const isAsked = args.encoding !== undefined;
  if (text !== undefined && (isAsked || !text.includes("\0"))) return toToolResult({ sandbox, args, slice, text, size, encoding });
  const wantsText = args.encoding !== undefined || args.start_line !== undefined || args.end_line !== undefined;
  if (wantsText) throw new BelljarError("FILE_NOT_TEXT", `"${args.path}" is not UTF-8 text; read it with encoding base64 or latin1`);
  return describeBytes(source, { head, size }, "not UTF-8 text");
}

/** What nobody asked for as bytes is described: printed it costs a model much and tells it little. */
const READ_BYTES = '; read its bytes with encoding "base64", or text of an older encoding with "latin1"';
const NO_PDF_READER =
  "a PDF, which needs poppler-utils: try `sudo apt-get update && sudo apt-get install -y poppler-utils`, or ask the person to install it on the host";

function describeBytes(
  { sandbox, args }: Source,
  { head, size }: Pick<Opened, "head" | "size">,
  what: string,
  advice = READ_BYTES,
): TextResult {
  const path = toAbsolute(sandbox, args.path);
  const start = head
    .subarray(0, 16)
    .toString("hex")
    .replaceAll(/(..)(?=.)/g, "$1 ");
  const value = { path, content: "", encoding: "base64" as const, size, start_line: null, end_line: null, truncated: true };
  return textResult(value, `[${path}: binary, ${size} bytes, ${what}; it begins with ${start}${advice}]`);
}

interface Reading {
  readonly sandbox: Sandbox;
  readonly args: Arguments;
  readonly slice: LineSlice;
  readonly text: string;
  readonly size: number;
  readonly encoding: Encoding;
  readonly mimeType?: string;
}

function toToolResult(reading: Reading): TextResult {
  const { sandbox, args, slice, text, size, encoding, mimeType } = reading;
  const startLine = args.start_line ?? 1;
  const isBase64 = encoding === "base64";
  return textResult(
    {
      path: toAbsolute(sandbox, args.path),
      content: text,
      encoding,
      size,
      start_line: isBase64 ? null : startLine,
      end_line: isBase64 ? null : slice.lastLine,
      truncated: slice.isCut,
      ...(mimeType !== undefined && { mime_type: mimeType }),
    },
    [
      { type: "text", text: args.line_numbers ? numberLines(text, startLine) : text },
      ...describeRest(reading).map((note) => ({ type: "text" as const, text: note })),
    ],
  );
}

/** Undefined for what is no UTF-8. */
function decodeUtf8({ bytes, isCut }: LineSlice): string | undefined {
  try {
    // Streaming lets a character that the cut split go, and still refuses bytes that are no UTF-8.
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes, { stream: isCut });
  } catch {
    return undefined;
  }
}

function numberLines(text: string, startLine: number): string {
  const lines = text.split("\n");
  const isClosed = lines.at(-1) === "";
  if (isClosed) lines.pop();
  const numbered = lines.map((line, index) => `${String(startLine + index).padStart(6)}\t${line}`).join("\n");
  return isClosed && lines.length > 0 ? `${numbered}\n` : numbered;
}

function describeRest({ sandbox, args, slice, text, size, encoding }: Reading): readonly string[] {
  const { path, start_line: startLine = 1, ...asked } = args;
  if (!slice.isCut) {
    const isPast = slice.totalLines !== undefined && startLine > Math.max(1, slice.totalLines);
    return isPast ? [`[The file has ${slice.totalLines} lines; line ${startLine} is past its end]`] : [];
  }
  if (encoding === "base64" || !slice.endsWithLine) {
    // A character that the cut split is not shown.
    const shown = encoding === "utf-8" ? Buffer.byteLength(text) : slice.bytes.length;
    const file = quote(toAbsolute(sandbox, path));
    const rest = startLine === 1 ? `tail -c +${shown + 1} ${file}` : `tail -n +${startLine} ${file} | tail -c +${shown + 1}`;
    const room = Math.max(args.max_bytes ?? 0, SHOWN_BYTES);
    const next = encoding === "base64" ? `head -c ${toBase64Room(room)} | base64 -w0` : `head -c ${room}`;
    const larger = room > SHOWN_BYTES ? { max_bytes: room } : {};
    const call = JSON.stringify({ command: `${rest} | ${next}`, ...larger, sandbox: args.sandbox });
    return [`[Cut: ${shown} of ${size} bytes are shown; take other parts with run_command ${call}]`];
  }
  const call = JSON.stringify({ path, start_line: slice.lastLine + 1, ...asked });
  return [`[Cut after line ${slice.lastLine}; the file has ${size} bytes; read on with read_file ${call}]`];
}

/** How many bytes have that much room as base64. */
function toBase64Room(bytes: number): number {
  return Math.floor(bytes / 4) * 3;
}

function quote(path: string): string {
  return `'${path.replaceAll("'", `'\\''`)}'`;
}
