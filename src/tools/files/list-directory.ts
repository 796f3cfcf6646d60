import * as z from "zod";
import type { Tool, ToolContext, ToolResult } from "../../catalog/tool.ts";
import { defineTool } from "../../catalog/tool.ts";
import { DEFAULT_SANDBOX, sandboxArgument } from "../sandbox-argument.ts";
import { pathArgument, toAbsolute } from "../sandbox-path.ts";
import type { ToolLimits } from "../tool-limits.ts";
import type { FileInfo } from "./file-row.ts";
import { showMode, showName, toIsoTime } from "./file-row.ts";
import { parseGlob } from "./glob.ts";
import { createIgnore } from "./ignore.ts";

const ENTRIES_MAX = 1_000;
const TEXT_MAX_BYTES = 131_072;
/** Of entries that are looked at, those that are left out too. */
const SCANNED_MAX = 100_000;

const Input = z.strictObject({
  path: pathArgument("Folder to list, by default the workspace").optional(),
  depth: z.number().int().min(1).max(32).optional().describe("1, the default, lists the folder itself; 2 its subfolders too, and so on"),
  ignore: z
    .array(
      z
        .string()
        .min(1)
        .max(1_024)
        .refine((pattern) => parseGlob(pattern) !== undefined, "has too many alternatives or parts"),
    )
    .max(100)
    .optional()
    .describe('Globs of what to leave out, with all below it: ["node_modules", ".git", "*.pyc", "build/**/*.o"]'),
  sandbox: sandboxArgument(DEFAULT_SANDBOX),
});

const Entry = z.object({
  path: z.string().describe("Relative to the listed folder"),
  type: z.enum(["file", "directory", "link", "other"]),
  size: z.number().int(),
  mode: z.string().describe("Permissions as octal digits"),
  modified_at: z.string(),
  target: z.string().optional().describe("Where a link points"),
});

const Output = z.object({ path: z.string(), entries: z.array(Entry), truncated: z.boolean() });

type Arguments = z.output<typeof Input>;
type Row = z.output<typeof Entry>;

export function createListDirectory(config: Pick<ToolLimits, "listMax">): Tool {
  const entriesMax = Math.min(config.listMax, ENTRIES_MAX);
  return defineTool({
    name: "list_directory",
    title: "List a folder",
    description: [
      "Lists a folder in your sandbox: each entry's path, type, size, permissions and time of change. Links are shown, not followed.",
      "With depth it lists a whole tree, each folder before what it holds; ignore leaves out what matches its globs. To find files by name use search_files.",
      `At most ${entriesMax} entries come back; the result says when there are more.`,
    ].join("\n"),
    toolset: "files",
    annotations: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
    input: Input,
    output: Output,
    run: (context, args) => listDirectory(context, args, entriesMax),
  });
}

async function listDirectory(context: ToolContext, args: Arguments, entriesMax: number): Promise<ToolResult> {
  const { path = ".", depth = 1 } = args;
  const sandbox = await context.sandbox(args.sandbox);
  const isIgnored = createIgnore(args.ignore ?? []);
  const infos = sandbox.guest.files.list(path, { depth, signal: context.signal });
  const { rows, truncated } = await collectRows(infos, { entriesMax, isIgnored });
  const folder = toAbsolute(path);
  const entries = rows.toSorted((a, b) => compareInTree(a.path, b.path));
  const heading = `${showName(folder)} (${entries.length} entries${truncated ? ", and more that are not shown" : ""})`;
  return {
    content: [{ type: "text", text: [heading, ...entries.map(showRow)].join("\n") }],
    structuredContent: { path: folder, entries, truncated },
  };
}

interface Selection {
  readonly entriesMax: number;
  readonly isIgnored: (path: string) => boolean;
}

/** Stops the listing at the bounds, so that a folder of any size costs the same. */
async function collectRows(infos: AsyncIterable<FileInfo>, { entriesMax, isIgnored }: Selection) {
  const rows: Row[] = [];
  let bytes = 0;
  let scanned = 0;
  for await (const info of infos) {
    scanned += 1;
    if (scanned > SCANNED_MAX) return { rows, truncated: true };
    if (isIgnored(info.path)) continue;
    bytes += Buffer.byteLength(info.path) + Buffer.byteLength(info.target ?? "");
    if (rows.length >= entriesMax || bytes > TEXT_MAX_BYTES) return { rows, truncated: true };
    rows.push(toRow(info));
  }
  return { rows, truncated: false };
}

/** Each folder comes before what it holds, and all that it holds before the next. */
function compareInTree(a: string, b: string): number {
  const [keyA, keyB] = [a.replaceAll("/", "\0"), b.replaceAll("/", "\0")];
  return keyA < keyB ? -1 : 1;
}

function toRow({ path, type, size, mode, mtimeNs, target }: FileInfo): Row {
  return {
    path,
    type,
    size,
    mode: showMode(mode),
    modified_at: toIsoTime(mtimeNs),
    ...(target !== undefined && { target }),
  };
}

function showRow({ path, type, size, mode, modified_at: modifiedAt, target }: Row): string {
  const name = type === "directory" ? `${showName(path)}/` : showName(path);
  const link = target === undefined ? "" : ` -> ${showName(target)}`;
  return `${mode} ${String(size).padStart(10)} ${modifiedAt} ${name}${link}`;
}
