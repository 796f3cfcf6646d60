import * as z from "zod";
import type { Tool, ToolContext, ToolResult } from "../../catalog/tool.ts";
import { defineTool } from "../../catalog/tool.ts";
import type { Sandbox } from "../../sandbox/sandbox.ts";
import { DEFAULT_SANDBOX, sandboxArgument } from "../sandbox-argument.ts";
import { pathArgument, toAbsolute } from "../sandbox-path.ts";
import type { ToolLimits } from "../tool-limits.ts";

const ENTRIES_MAX = 1_000;
const TEXT_MAX_BYTES = 131_072;

const Input = z.strictObject({
  path: pathArgument("Folder to list, by default the workspace").optional(),
  depth: z.number().int().min(1).max(32).optional().describe("1, the default, lists the folder itself; 2 its subfolders too, and so on"),
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
type FileInfo = Awaited<ReturnType<Sandbox["guest"]["files"]["stat"]>>;

export function createListDirectory(config: Pick<ToolLimits, "listMax">): Tool {
  const entriesMax = Math.min(config.listMax, ENTRIES_MAX);
  return defineTool({
    name: "list_directory",
    title: "List a folder",
    description: [
      "Lists a folder in your sandbox: each entry's path, type, size, permissions and time of change. Links are shown, not followed.",
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
  const { rows, truncated } = await collectRows(sandbox.guest.files.list(path, { depth, signal: context.signal }), entriesMax);
  const folder = toAbsolute(path);
  const entries = rows.toSorted((a, b) => (a.path < b.path ? -1 : 1));
  const heading = `${showName(folder)} (${entries.length} entries${truncated ? ", and more that are not shown" : ""})`;
  return {
    content: [{ type: "text", text: [heading, ...entries.map(showRow)].join("\n") }],
    structuredContent: { path: folder, entries, truncated },
  };
}

/** Stops the listing at the bound, so that a folder of any size costs the same. */
async function collectRows(infos: AsyncIterable<FileInfo>, entriesMax: number): Promise<{ rows: readonly Row[]; truncated: boolean }> {
  const rows: Row[] = [];
  let bytes = 0;
  for await (const info of infos) {
    bytes += Buffer.byteLength(info.path) + Buffer.byteLength(info.target ?? "");
    if (rows.length >= entriesMax || bytes > TEXT_MAX_BYTES) return { rows, truncated: true };
    rows.push(toRow(info));
  }
  return { rows, truncated: false };
}

function toRow({ path, type, size, mode, mtimeNs, target }: FileInfo): Row {
  return {
    path,
    type,
    size,
    mode: (mode & 0o7777).toString(8).padStart(4, "0"),
    modified_at: toIsoTime(mtimeNs),
    ...(target !== undefined && { target }),
  };
}

/** A file may claim any time; those that a date cannot hold become the nearest one that it can. */
function toIsoTime(mtimeNs: bigint): string {
  const milliseconds = Number(mtimeNs / 1_000_000n);
  return new Date(Math.min(Math.max(milliseconds, -8.64e15), 8.64e15)).toISOString();
}

function showRow({ path, type, size, mode, modified_at: modifiedAt, target }: Row): string {
  const name = type === "directory" ? `${showName(path)}/` : showName(path);
  const link = target === undefined ? "" : ` -> ${showName(target)}`;
  return `${mode} ${String(size).padStart(10)} ${modifiedAt} ${name}${link}`;
}

/** One entry is one line, whatever its name. */
function showName(name: string): string {
  // oxlint-disable-next-line no-control-regex
  return /[\u0000-\u001f\u007f"\\]/.test(name) ? JSON.stringify(name) : name;
}
