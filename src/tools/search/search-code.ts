import * as z from "zod";
import type { Tool, ToolContext, TextResult } from "../../catalog/tool.ts";
import { defineTool } from "../../catalog/tool.ts";
import { textResult } from "../../catalog/tool-result.ts";
import { showName } from "../files/file-row.ts";
import { acceptPattern } from "../other-names.ts";
import { maxBytesArgument, SHOWN_BYTES } from "../max-bytes.ts";
import { DEFAULT_SANDBOX, sandboxArgument } from "../sandbox-argument.ts";
import { pathArgument } from "../sandbox-path.ts";
import type { RowBounds } from "../shown-rows.ts";
import { describeCount, describeRest, fitRows, heldRows } from "../shown-rows.ts";
import { BROKEN_MAX, copyPart, parseJson, readRecords } from "./records.ts";
import { globsArgument, INCLUDE_IGNORED, patternArgument, toGlobs } from "./search-arguments.ts";
import type { SearchPrograms } from "./search-programs.ts";
import { describeEnd, openSearch } from "./search-programs.ts";
import type { SearchTarget } from "./search-target.ts";
import { findSearchTarget } from "./search-target.ts";

const DEFAULT_LIMIT = 100;
const LIMIT_MAX = 1_000;
const RECORD_MAX_BYTES = 1_048_576;
const CODE_MAX = 2_000;
const NEWLINE = 0x0a;
const IGNORE_FILES = ["hidden", "dot", "exclude", "global", "parent", "vcs"];

const language = z
  .string()
  .max(40)
  .regex(/^[A-Za-z][A-Za-z+#]*$/, "must be a language's name, as ts, python or rust");

const Input = z.strictObject({
  pattern: patternArgument("Code with holes: $NAME stands for one expression, $$$NAME for any number, as in console.log($$$ARGS)"),
  path: pathArgument("File or folder to search, by default the workspace").optional(),
  language: language
    .optional()
    .describe("Of the pattern and the files: ts, tsx, js, python, go, rust, java, c, cpp ... Absent: by each file's name"),
  lang: language.optional().describe("The same as language"),
  include: globsArgument('Globs of files to search, as "src/**/*.ts"'),
  limit: z.number().int().min(1).max(LIMIT_MAX).optional().describe(`Most matches to return; default ${DEFAULT_LIMIT}`),
  include_ignored: INCLUDE_IGNORED,
  max_bytes: maxBytesArgument(),
  sandbox: sandboxArgument(DEFAULT_SANDBOX),
});

const CodeMatch = z.object({
  path: z.string(),
  line: z.number().int().describe("First line, from 1"),
  end_line: z.number().int(),
  column: z.number().int().describe("From 1"),
  text: z.string().describe("The code that matches; long code is cut"),
});

const Output = z.object({ path: z.string().describe("What was searched"), matches: z.array(CodeMatch), truncated: z.boolean() });

type Arguments = z.output<typeof Input>;
type CodeMatch = z.output<typeof CodeMatch>;

const Place = z.object({ line: z.number().int(), column: z.number().int() });
const Found = z.object({ file: z.string(), text: z.string(), range: z.object({ start: Place, end: Place }) });

export function createSearchCode(programs: SearchPrograms): Tool {
  return defineTool({
    name: "search_code",
    title: "Search code by structure",
    description: [
      "Finds code by its syntax with ast-grep, whatever its spaces, line breaks and comments: calls of a function, definitions, imports.",
      "The pattern is a piece of code that parses by itself, as `def $F($$$A): $$$B` in python or `new $C($$$A)` in ts.",
      "For plain text use search_content.",
    ].join("\n"),
    toolset: "search",
    annotations: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
    accept: acceptPattern,
    input: Input,
    value: Output,
    run: (context, args) => searchCode(context, args, programs),
  });
}

async function searchCode(context: ToolContext, args: Arguments, programs: SearchPrograms): Promise<TextResult> {
  const { signal } = context;
  const sandbox = await context.sandbox(args.sandbox);
  const target = await findSearchTarget(sandbox, args.path, signal);
  await using program = await openSearch(sandbox, { programs, name: "ast-grep", args: toArguments(args, target), cwd: target.cwd, signal });
  const bounds = { rows: args.limit ?? DEFAULT_LIMIT, bytes: args.max_bytes ?? SHOWN_BYTES };
  const { found, isFull } = await collectMatches(program.stdout, heldRows(bounds));
  const all = found.map((match) => ({ ...match, path: target.toPath(match.path) })).toSorted(comparePlaces);
  const matches = fitRows(all, bounds, ({ path, text }) => path + text);
  const lines = all.map(showMatch);
  const notes = [
    ...describeRest(context, { lines, shown: matches.length, isFull }, "search a smaller folder or use include"),
    ...(isFull ? [] : describeEnd(await program.ended(), all.length)),
  ];
  const count = describeCount({ found: all.length, shown: matches.length, isFull }, ["place matches", "places match"]);
  const heading = matches.length === 0 ? `No code matches in ${showName(target.absolute)}` : count;
  return textResult(
    { path: target.absolute, matches, truncated: notes.length > 0 },
    [heading, ...lines.slice(0, matches.length), ...notes].join("\n"),
  );
}

function toArguments(args: Arguments, target: SearchTarget): readonly string[] {
  const lang = args.language ?? args.lang;
  return [
    "run",
    `--pattern=${args.pattern}`,
    "--json=stream",
    "--color=never",
    ...(lang === undefined ? [] : [`--lang=${lang}`]),
    ...toGlobs(args.include).map((glob) => `--globs=${glob}`),
    ...(args.include_ignored ? IGNORE_FILES.map((kind) => `--no-ignore=${kind}`) : []),
    "--",
    target.argument,
  ];
}

async function collectMatches(content: AsyncIterable<Buffer>, bounds: RowBounds) {
  const found: CodeMatch[] = [];
  let bytes = 0;
  let broken = 0;
  for await (const record of readRecords(content, { separator: NEWLINE, maxBytes: RECORD_MAX_BYTES })) {
    const match = record && parseMatch(record);
    if (!match && (broken += 1) > BROKEN_MAX) return { found, isFull: true };
    if (!match) continue;
    bytes += Buffer.byteLength(match.text) + Buffer.byteLength(match.path);
    if (found.length >= bounds.rows || bytes > bounds.bytes) return { found, isFull: true };
    found.push(match);
  }
  return { found, isFull: false };
}

/** Undefined for what is no match: a program inside may print anything. */
function parseMatch(record: Buffer): CodeMatch | undefined {
  const found = Found.safeParse(parseJson(record)).data;
  if (!found) return undefined;
  const { start, end } = found.range;
  const text = found.text.length > CODE_MAX ? `${copyPart(found.text, 0, CODE_MAX)}...` : found.text;
  return { path: found.file, line: start.line + 1, end_line: end.line + 1, column: start.column + 1, text };
}

function comparePlaces(a: CodeMatch, b: CodeMatch): number {
  if (a.path !== b.path) return a.path < b.path ? -1 : 1;
  return a.line - b.line || a.column - b.column;
}

function showMatch({ path, line, end_line: endLine, column, text }: CodeMatch): string {
  const lines = endLine === line ? String(line) : `${line}-${endLine}`;
  return `\n${showName(path)}:${lines} (column ${column})\n${text}`;
}
