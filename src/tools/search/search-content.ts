import * as z from "zod";
import type { Tool, ToolContext, TextResult } from "../../catalog/tool.ts";
import { defineTool } from "../../catalog/tool.ts";
import { textResult } from "../../catalog/tool-result.ts";
import { showName } from "../files/file-row.ts";
import { acceptPattern } from "../other-names.ts";
import { maxBytesArgument, SHOWN_BYTES } from "../max-bytes.ts";
import { DEFAULT_SANDBOX, sandboxArgument } from "../sandbox-argument.ts";
import type { InnerProgram } from "../inner-program.ts";
import { pathArgument } from "../sandbox-path.ts";
import type { RowBounds } from "../shown-rows.ts";
import { describeCount, describeRest, fitRows, heldRows } from "../shown-rows.ts";
import { FileCount, countFiles } from "./file-counts.ts";
import { Match, MatchCollector } from "./match-collector.ts";
import { readRecords } from "./records.ts";
import { globsArgument, INCLUDE_IGNORED, patternArgument, ripgrepArguments, toGlobs } from "./search-arguments.ts";
import type { SearchPrograms } from "./search-programs.ts";
import { describeEnd, openSearch } from "./search-programs.ts";
import type { SearchTarget } from "./search-target.ts";
import { findSearchTarget } from "./search-target.ts";

const DEFAULT_LIMIT = 200;
const LIMIT_MAX = 1_000;
const RECORD_MAX_BYTES = 1_048_576;
const NEWLINE = 0x0a;
const ADVICE = "search a smaller folder, use include, or a narrower pattern";

const Input = z.strictObject({
  pattern: patternArgument("Regular expression (Rust's syntax: no look-around, no back-references), or plain text with literal"),
  path: pathArgument("File or folder to search, by default the workspace").optional(),
  include: globsArgument('Globs of files to search: "*.ts", or ["src/**", "*.md"]'),
  exclude: globsArgument('Globs of files and folders to leave out: "*.min.js"'),
  context: z.number().int().min(0).max(20).optional().describe("Lines to show before and after each match; default 0"),
  mode: z
    .enum(["content", "files", "count"])
    .optional()
    .describe("content, the default: the lines that match. files: the files that have one. count: how many lines match in each file"),
  ignore_case: z.boolean().optional().describe("Take upper and lower case as the same"),
  literal: z.boolean().optional().describe("The pattern is plain text"),
  limit: z.number().int().min(1).max(LIMIT_MAX).optional().describe(`Most matches or files to return; default ${DEFAULT_LIMIT}`),
  include_ignored: INCLUDE_IGNORED,
  max_bytes: maxBytesArgument(),
  sandbox: sandboxArgument(DEFAULT_SANDBOX),
});

const Output = z.object({
  mode: z.enum(["content", "files", "count"]),
  path: z.string().describe("What was searched"),
  matches: z.array(Match).optional().describe("In mode content"),
  files: z.array(FileCount).optional().describe("In modes files and count"),
  truncated: z.boolean(),
});

type Arguments = z.output<typeof Input>;

interface Search {
  readonly target: SearchTarget;
  readonly args: Arguments;
  readonly bounds: RowBounds;
}

export function createSearchContent(programs: SearchPrograms): Tool {
  return defineTool({
    name: "search_content",
    title: "Search in files",
    description: [
      "Searches the content of files in your sandbox with ripgrep: each match with its path and line number, sorted by path; or, by mode, only",
      "the files, or counts. Binary files, .git and what .gitignore leaves out are not searched. Links are not followed.",
      "To find code by its structure use search_code.",
    ].join("\n"),
    toolset: "search",
    annotations: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
    accept: acceptPattern,
    input: Input,
    value: Output,
    run: (context, args) => searchContent(context, args, programs),
  });
}

async function searchContent(context: ToolContext, args: Arguments, programs: SearchPrograms): Promise<TextResult> {
  const { signal } = context;
  const sandbox = await context.sandbox(args.sandbox);
  const target = await findSearchTarget(sandbox, args.path, signal);
  const run = { programs, name: "rg" as const, args: toArguments(args, target), cwd: target.cwd, signal };
  const search = { target, args, bounds: { rows: args.limit ?? DEFAULT_LIMIT, bytes: args.max_bytes ?? SHOWN_BYTES } };
  await using program = await openSearch(sandbox, run);
  const { mode = "content" } = args;
  return mode === "content" ? await searchLines(context, program, search) : await searchCounts(context, program, { ...search, mode });
}

function toArguments(args: Arguments, target: SearchTarget): readonly string[] {
  const globs = [...toGlobs(args.include), ...toGlobs(args.exclude).map((glob) => `!${glob}`)];
  const output = { content: ["--json", `--context=${args.context ?? 0}`], files: ["--count", "--null"], count: ["--count", "--null"] };
  return [
    ...ripgrepArguments({ globs, includeIgnored: args.include_ignored === true }),
    "--crlf",
    "--with-filename",
    ...output[args.mode ?? "content"],
    ...(args.ignore_case ? ["--ignore-case"] : []),
    ...(args.literal ? ["--fixed-strings"] : []),
    `--regexp=${args.pattern}`,
    "--",
    target.argument,
  ];
}

async function searchLines(context: ToolContext, program: InnerProgram, { target, args, bounds }: Search): Promise<TextResult> {
  const collector = new MatchCollector({ bounds: heldRows(bounds), context: args.context ?? 0, toPath: target.toPath });
  let isFull = false;
  for await (const record of readRecords(program.stdout, { separator: NEWLINE, maxBytes: RECORD_MAX_BYTES })) {
    isFull = !collector.take(record);
    if (isFull) break;
  }
  const { matches: all, dropped } = collector;
  const matches = fitRows(all, bounds, ({ path, text, before = [], after = [] }) => [path, text, ...before, ...after].join());
  const hasContext = (args.context ?? 0) > 0;
  const lines = showMatches(all, hasContext);
  const shown = showMatches(matches, hasContext);
  const notes = [
    ...describeRest(context, { lines, shown: shown.length, isFull }, ADVICE),
    ...(isFull ? [] : describeEnd(await program.ended(), all.length + dropped)),
    ...(dropped > 0 ? [`[${dropped} matches on lines of more than ${RECORD_MAX_BYTES} bytes are not shown]`] : []),
  ];
  const count = describeCount({ found: all.length, shown: matches.length, isFull }, ["line matches", "lines match"]);
  const heading = matches.length === 0 ? `No line matches in ${showName(target.absolute)}` : count;
  return textResult(
    { mode: "content", path: target.absolute, matches, truncated: notes.length > 0 },
    [heading, ...shown, ...notes].join("\n"),
  );
}

/** Under the name of each file: `12:` before a match, `11-` before its neighbours, `--` between places. */
function showMatches(matches: readonly Match[], hasContext: boolean): readonly string[] {
  return matches.flatMap(({ path, line, text, before = [], after = [] }, index) => {
    const previous = matches[index - 1];
    const isNewFile = previous?.path !== path;
    const end = (previous?.line ?? 0) + (previous?.after?.length ?? 0);
    const isApart = hasContext && !isNewFile && line - before.length > end + 1;
    return [
      ...(isNewFile ? [`\n${showName(path)}`] : []),
      ...(isApart ? ["--"] : []),
      ...before.map((other, at) => `${line - before.length + at}- ${other}`),
      `${line}: ${text}`,
      ...after.map((other, at) => `${line + at + 1}- ${other}`),
    ];
  });
}

async function searchCounts(
  context: ToolContext,
  program: InnerProgram,
  { target, bounds, mode }: Search & { readonly mode: "files" | "count" },
): Promise<TextResult> {
  const { files: all, isFull } = await countFiles(program.stdout, { bounds: heldRows(bounds), toPath: target.toPath });
  const files = fitRows(all, bounds, ({ path }) => path);
  const lines = all.map(({ path, count }) => (mode === "count" ? `${count}\t${showName(path)}` : showName(path)));
  const notes = [
    ...describeRest(context, { lines, shown: files.length, isFull }, ADVICE),
    ...(isFull ? [] : describeEnd(await program.ended(), all.length)),
  ];
  const counted = describeCount({ found: all.length, shown: files.length, isFull }, ["file has a match", "files have matches"]);
  const heading = files.length === 0 ? `No file has a match in ${showName(target.absolute)}` : counted;
  return textResult(
    { mode, path: target.absolute, files, truncated: notes.length > 0 },
    [heading, ...lines.slice(0, files.length), ...notes].join("\n"),
  );
}
