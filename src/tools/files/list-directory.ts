import { setImmediate } from "node:timers/promises";
import * as z from "zod";
import type { Tool, ToolContext, TextResult } from "../../catalog/tool.ts";
import { defineTool } from "../../catalog/tool.ts";
import { textResult } from "../../catalog/tool-result.ts";
import type { FileInfo } from "../../sandbox/sandbox.ts";
import { acceptFolder } from "../other-names.ts";
import { maxBytesArgument, SHOWN_BYTES } from "../max-bytes.ts";
import { DEFAULT_SANDBOX, sandboxArgument } from "../sandbox-argument.ts";
import { pathArgument, toAbsolute } from "../sandbox-path.ts";
import type { RowBounds } from "../shown-rows.ts";
import { describeRest, fitRows, heldRows } from "../shown-rows.ts";
import type { ToolLimits } from "../tool-limits.ts";
import { showMode, showName, toIsoTime } from "./file-row.ts";
import { findIgnored } from "./ignored-files.ts";
import { countParts, parseGlob } from "./glob.ts";
import { GlobMatcher } from "./glob-matcher.ts";

const ENTRIES_MAX = 1_000;
/** Of entries that are looked at, those that are left out too. */
const SCANNED_MAX = 100_000;
/** After so many, others have their turn: a frame of the guest has hundreds of entries, and several frames may wait. */
const TURN_ENTRIES = 128;
/** Characters, wildcards and ranges of all globs. */
const GLOB_PARTS_MAX = 2_048;

const Input = z.strictObject({
  path: pathArgument("Folder to list, by default the workspace").optional(),
  depth: z.number().int().min(1).max(32).optional().describe("1, the default, lists the folder itself; 2 its subfolders too, and so on"),
  ignore: z
    .array(z.string().min(1).max(1_024))
    .max(100)
    .superRefine(checkGlobs)
    .optional()
    .describe('Globs of what to leave out, with all below it: ["node_modules", ".git", "*.pyc", "build/**/*.o"]'),
  include_ignored: z.boolean().optional().describe("Also .git and what .gitignore leaves out"),
  max_bytes: maxBytesArgument(),
  sandbox: sandboxArgument(DEFAULT_SANDBOX),
});

/** Together they bound what one entry of a listing costs. */
function checkGlobs(patterns: readonly string[], context: z.RefinementCtx): void {
  let parts = 0;
  for (const [index, pattern] of patterns.entries()) {
    const glob = parseGlob(pattern);
    parts += glob ? countParts(glob) : 0;
    if (glob && parts <= GLOB_PARTS_MAX) continue;
    const message = glob ? `makes more than ${GLOB_PARTS_MAX} parts of all globs together; leave some out` : "has too many alternatives";
    return context.addIssue({ code: "custom", path: [index], message });
  }
}

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
  const rows = Math.min(config.listMax, ENTRIES_MAX);
  return defineTool({
    name: "list_directory",
    title: "List a folder",
    description: [
      "Lists a folder in your sandbox: each entry's permissions, size, time of change and path. Links are shown, not followed; .git and ignored files are left out.",
      "With depth it lists a whole tree, each folder before what it holds; ignore leaves out what matches its globs.",
      `At most ${rows} come back; the last line says where to read on.`,
    ].join("\n"),
    toolset: "files",
    annotations: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
    accept: acceptFolder,
    input: Input,
    value: Output,
    run: (context, args) => listDirectory(context, args, { rows, bytes: args.max_bytes ?? SHOWN_BYTES }),
  });
}

async function listDirectory(context: ToolContext, args: Arguments, bounds: RowBounds): Promise<TextResult> {
  const { path = ".", depth = 1 } = args;
  const sandbox = await context.sandbox(args.sandbox);
  const isNamed = createIgnore(args.ignore ?? []);
  const isLeftOut = args.include_ignored ? () => false : await findIgnored(sandbox, { path, signal: context.signal });
  const isIgnored = (one: string): boolean => isNamed(one) || isLeftOut(one);
  const infos = sandbox.guest.files.list(path, { depth, signal: context.signal });
  const { rows, isFull } = await collectRows(infos, { bounds: heldRows(bounds), isIgnored });
  const folder = toAbsolute(sandbox, path);
  const all = sortAsTree(rows);
  const entries = fitRows(all, bounds, showRow);
  const truncated = isFull || entries.length < all.length;
  const heading = `${showName(folder)} (${entries.length} entries${truncated ? ", and more that are not shown" : ""})`;
  const lines = all.map(showRow);
  const rest = describeRest(context, { lines, shown: entries.length, isFull }, "list a subfolder, or ignore more");
  return textResult({ path: folder, entries, truncated }, [heading, ...lines.slice(0, entries.length), ...rest].join("\n"));
}

interface Selection {
  readonly bounds: RowBounds;
  readonly isIgnored: (path: string) => boolean;
}

/** Stops the listing at the bounds, so that a folder of any size costs the same. */
async function collectRows(infos: AsyncIterable<FileInfo>, { bounds, isIgnored }: Selection) {
  const rows: Row[] = [];
  let bytes = 0;
  let scanned = 0;
  for await (const info of infos) {
    scanned += 1;
    if (scanned > SCANNED_MAX) return { rows, isFull: true };
    if (scanned % TURN_ENTRIES === 0) await setImmediate();
    if (isIgnored(info.path)) continue;
    bytes += Buffer.byteLength(nameOf(info));
    if (rows.length >= bounds.rows || bytes > bounds.bytes) return { rows, isFull: true };
    rows.push(toRow(info));
  }
  return { rows, isFull: false };
}

function nameOf({ path, target = "" }: { readonly path: string; readonly target?: string | undefined }): string {
  return path + target;
}

/** Each folder comes before what it holds, and all that it holds before the next. */
function sortAsTree(rows: readonly Row[]): readonly Row[] {
  const keyed = rows.map((row) => ({ row, key: row.path.replaceAll("/", "\0") }));
  return keyed.toSorted((a, b) => (a.key < b.key ? -1 : 1)).map(({ row }) => row);
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
  return `${mode} ${String(size).padStart(8)} ${modifiedAt.slice(0, 16).replace("T", " ")} ${name}${link}`;
}

/** Whether a relative path, or a folder above it, matches one of the globs. */
export function createIgnore(patterns: readonly string[]): (path: string) => boolean {
  const globs = patterns.map(parseGlob).filter((glob) => glob !== undefined);
  if (globs.length === 0) return () => false;
  const matcher = new GlobMatcher(globs);
  // Entries of one folder mostly come one after the other: where its path led need not be found again.
  let known = { folder: "", state: matcher.start() };

  return (path) => {
    if (!path.startsWith(known.folder)) known = { folder: "", state: matcher.start() };
    const state = known.state.slice();
    let end = known.folder.length;
    for (const char of path.slice(end)) {
      if (char === "/" && matcher.isMatch(state)) return true;
      matcher.step(state, char);
      end += char.length;
      if (char === "/") known = { folder: path.slice(0, end), state: state.slice() };
    }
    return matcher.isMatch(state);
  };
}
