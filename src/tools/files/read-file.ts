import * as z from "zod";
import type { Tool, ToolContext, ToolResult } from "../../catalog/tool.ts";
import { defineTool } from "../../catalog/tool.ts";
import { BelljarError } from "../../errors.ts";
import { DEFAULT_SANDBOX, sandboxArgument } from "../sandbox-argument.ts";
import { pathArgument, toAbsolute } from "../sandbox-path.ts";
import type { LineSlice } from "./read-lines.ts";
import { readLines } from "./read-lines.ts";

const MAX_BYTES = 262_144;
const LAST_LINE = Number.MAX_SAFE_INTEGER;

const Input = z
  .strictObject({
    path: pathArgument("File to read"),
    start_line: z.number().int().min(1).max(LAST_LINE).optional().describe("First line to return, from 1"),
    end_line: z.number().int().min(1).max(LAST_LINE).optional().describe("Last line to return"),
    line_numbers: z.boolean().optional().describe("Put its number and a tab before each line; default false"),
    encoding: z.enum(["utf-8", "latin1", "base64"]).optional().describe("Default utf-8. base64 returns the bytes of any file"),
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
});

type Arguments = z.output<typeof Input>;
type Encoding = z.output<typeof Output>["encoding"];

export function createReadFile({ maxBytes = MAX_BYTES }: { readonly maxBytes?: number } = {}): Tool {
  return defineTool({
    name: "read_file",
    title: "Read a file",
    description: [
      "Returns the exact text of a file in your sandbox, or some of its lines with start_line and end_line.",
      `At most ${maxBytes} bytes come back; a longer file is cut after a whole line, and the result says where to go on.`,
      "Only the lines that are asked for are kept in memory, so files of any size can be read in parts. For binary files use encoding base64.",
    ].join("\n"),
    toolset: "files",
    annotations: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
    input: Input,
    output: Output,
    run: (context, args) => readFile(context, args, maxBytes),
  });
}

async function readFile(context: ToolContext, args: Arguments, maxBytes: number): Promise<ToolResult> {
  const { encoding = "utf-8", start_line: startLine = 1, end_line: endLine = LAST_LINE } = args;
  const sandbox = await context.sandbox(args.sandbox);
  const isBase64 = encoding === "base64";
  const room = isBase64 ? Math.floor(maxBytes / 4) * 3 : maxBytes;
  const { info, content } = await sandbox.guest.files.open(args.path, {
    signal: context.signal,
    ...(startLine === 1 && { limit: room + 1 }),
  });
  const slice = await readLines(content, { startLine, endLine: isBase64 ? LAST_LINE : endLine, maxBytes: room, wholeLines: !isBase64 });
  const text = decode(slice, encoding, args.path);
  return {
    content: [
      { type: "text", text: args.line_numbers ? numberLines(text, startLine) : text },
      ...describeRest(slice, args, info.size).map((note) => ({ type: "text" as const, text: note })),
    ],
    structuredContent: {
      path: toAbsolute(args.path),
      content: text,
      encoding,
      size: info.size,
      start_line: isBase64 ? null : startLine,
      end_line: isBase64 ? null : slice.lastLine,
      truncated: slice.isCut,
    },
  };
}

function decode({ bytes, isCut }: LineSlice, encoding: Encoding, path: string): string {
  if (encoding !== "utf-8") return bytes.toString(encoding);
  try {
    // Streaming lets a character that the cut split go, and still refuses bytes that are no UTF-8.
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes, { stream: isCut });
  } catch (cause) {
    throw new BelljarError("FILE_NOT_TEXT", `"${path}" is not UTF-8 text; read it with encoding base64 or latin1`, { cause });
  }
}

function numberLines(text: string, startLine: number): string {
  const lines = text.split("\n");
  const isClosed = lines.at(-1) === "";
  if (isClosed) lines.pop();
  const numbered = lines.map((line, index) => `${String(startLine + index).padStart(6)}\t${line}`).join("\n");
  return isClosed && lines.length > 0 ? `${numbered}\n` : numbered;
}

function describeRest(slice: LineSlice, args: Arguments, size: number): readonly string[] {
  const { start_line: startLine = 1, encoding } = args;
  if (!slice.isCut) {
    const isPast = slice.totalLines !== undefined && startLine > Math.max(1, slice.totalLines);
    return isPast ? [`[The file has ${slice.totalLines} lines; line ${startLine} is past its end]`] : [];
  }
  if (encoding === "base64" || !slice.endsWithLine) {
    return [
      `[Cut: ${slice.bytes.length} of ${size} bytes are shown; take other parts with run_command, as: tail -c +${slice.bytes.length + 1} FILE | head -c 100000]`,
    ];
  }
  return [`[Cut after line ${slice.lastLine}; the file has ${size} bytes. Go on with start_line ${slice.lastLine + 1}]`];
}
