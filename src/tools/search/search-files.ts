import { posix } from "node:path";
import * as z from "zod";
import type { Tool, ToolContext, TextResult } from "../../catalog/tool.ts";
import { defineTool } from "../../catalog/tool.ts";
import { textResult } from "../../catalog/tool-result.ts";
import type { Sandbox } from "../../sandbox/sandbox.ts";
import { showName } from "../files/file-row.ts";
import { acceptFilePattern } from "../other-names.ts";
import { maxBytesArgument, SHOWN_BYTES } from "../max-bytes.ts";
import { DEFAULT_SANDBOX, sandboxArgument } from "../sandbox-argument.ts";
import { pathArgument, toAbsolute } from "../sandbox-path.ts";
import type { RowBounds } from "../shown-rows.ts";
import { describeCount, describeRest, fitRows, heldRows } from "../shown-rows.ts";
import type { ToolLimits } from "../tool-limits.ts";
import { readRecords } from "./records.ts";
import { INCLUDE_IGNORED, patternArgument, ripgrepArguments } from "./search-arguments.ts";
import type { SearchPrograms } from "./search-programs.ts";
import { describeEnd, openSearch } from "./search-programs.ts";
import { findSearchTarget } from "./search-target.ts";

const FILES_MAX = 1_000;
const PATH_MAX_BYTES = 8_192;
const NUL = 0;

const Input = z.strictObject({
  pattern: patternArgument('Glob, as "*.ts" (at any depth), "src/**/*.test.ts" or "**/{a,b}.json"').refine(
    (pattern) => !pattern.startsWith("!"),
    "must not start with !",
  ),
  path: pathArgument("Folder to search, by default the workspace").optional(),
  include_ignored: INCLUDE_IGNORED,
  max_bytes: maxBytesArgument(),
  sandbox: sandboxArgument(DEFAULT_SANDBOX),
});

const Output = z.object({
  path: z.string().describe("The folder that was searched"),
  files: z.array(z.string()).describe("Paths that read_file takes, sorted"),
  truncated: z.boolean(),
});

type Arguments = z.output<typeof Input>;

export function createSearchFiles(config: Pick<ToolLimits, "listMax">, programs: SearchPrograms): Tool {
  const rows = Math.min(config.listMax, FILES_MAX);
  return defineTool({
    name: "search_files",
    title: "Find files by name",
    description: [
      "Finds files by a glob for their path, below a folder of your sandbox. Folders and links are not found; see list_directory for those.",
      `What .gitignore leaves out is left out, unless it matches the glob itself.`,
    ].join("\n"),
    toolset: "search",
    annotations: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
    accept: acceptFilePattern,
    input: Input,
    value: Output,
    run: (context, args) => searchFiles(context, args, { bounds: { rows, bytes: args.max_bytes ?? SHOWN_BYTES }, programs }),
  });
}

interface Limits {
  readonly bounds: RowBounds;
  readonly programs: SearchPrograms;
}

async function searchFiles(context: ToolContext, args: Arguments, { bounds, programs }: Limits): Promise<TextResult> {
  const { signal } = context;
  const sandbox = await context.sandbox(args.sandbox);
  const { pattern, path } = splitPattern(sandbox, args);
  const target = await findSearchTarget(sandbox, path, signal);
  const options = ripgrepArguments({ globs: [pattern], includeIgnored: args.include_ignored === true });
  const run = { programs, name: "rg" as const, args: [...options, "--files", "--null", "--", target.argument], cwd: target.cwd, signal };
  await using program = await openSearch(sandbox, run);
  const { files, isFull } = await collectPaths(program.stdout, heldRows(bounds));
  const all = files.map((file) => target.toPath(file));
  const found = fitRows(all, bounds, (file) => file);
  const lines = all.map(showName);
  const notes = [
    ...describeRest(context, { lines, shown: found.length, isFull }, "search a smaller folder or use a narrower glob"),
    ...(isFull ? [] : describeEnd(await program.ended(), files.length)),
  ];
  const where = `${JSON.stringify(args.pattern)} in ${showName(target.absolute)}`;
  const count = { found: all.length, shown: found.length, isFull };
  const heading = describeCount(count, [`file matches ${where}`, `files match ${where}`]);
  return textResult(
    { path: target.absolute, files: found, truncated: notes.length > 0 },
    [heading, ...lines.slice(0, found.length), ...notes].join("\n"),
  );
}

/** An absolute glob names its folder itself, up to its first wildcard. */
function splitPattern(sandbox: Sandbox, { pattern, path }: Arguments): { readonly pattern: string; readonly path: string | undefined } {
  if (!pattern.startsWith("/")) return { pattern: pattern.replace(/^(\.\/)+/, ""), path };
  const base = `${toAbsolute(sandbox, path ?? "/")}/`.replace("//", "/");
  const rest = pattern.startsWith(base) ? pattern.slice(base.length) : pattern.slice(1);
  if (path !== undefined) return { pattern: `/${rest}`, path };
  const names = pattern.split("/");
  const wild = names.findIndex((name) => /[*?[\]{}\\]/.test(name));
  const depth = wild < 0 ? names.length - 1 : wild;
  return { pattern: `/${names.slice(depth).join("/")}`, path: posix.join("/", ...names.slice(0, depth)) };
}

async function collectPaths(content: AsyncIterable<Buffer>, bounds: RowBounds) {
  const files: string[] = [];
  let bytes = 0;
  for await (const record of readRecords(content, { separator: NUL, maxBytes: PATH_MAX_BYTES })) {
    bytes += record?.length ?? 0;
    if (files.length >= bounds.rows || bytes > bounds.bytes) return { files, isFull: true };
    if (record) files.push(record.toString("utf8"));
  }
  return { files, isFull: false };
}
