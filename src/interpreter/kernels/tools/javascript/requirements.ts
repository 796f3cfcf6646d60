import { isRecord } from "./define-tool.ts";
import { Refusal } from "./refusal.ts";

const SPECIFIER = /^(?:@[a-z0-9][\w.~-]{0,100}\/)?[a-z0-9][\w.~-]{0,200}(?:@[\w.*^~<>=|+ -]{1,100})?$/;
const MAX_REQUIREMENTS = 100;
const MAX_CHARACTERS = 200;
/** Of a refused one, in its message: each may be six characters there. */
const SHOWN_CHARACTERS = 100;
const BLOCK_START = "/* package.json";

/**
 * The npm packages that a code names at its head, before its first line of code. There are two forms:
 * a line `// requirements` and below it a comment line for each package (`// zod@^4`), up to the first line that is no such comment;
 * or a comment `/* package.json` whose text up to the closing mark is JSON with the field `dependencies`.
 * The code is not run. Throws a `Refusal` with the line.
 */
export function readRequirements(code: string): string[] {
  const lines = code.split("\n").map((line) => line.trim());
  const found: string[] = [];
  for (let at = 0; at < lines.length;) {
    const line = lines[at] ?? "";
    if (line.startsWith("/*")) {
      const end = endOfComment(lines, at);
      if (line.startsWith(BLOCK_START)) found.push(...readPackageJson(lines.slice(at, end), at + 1));
      at = end;
    } else if (line === "// requirements") at = readLines(lines, at + 1, found);
    else if (line === "" || line.startsWith("//") || (at === 0 && line.startsWith("#!"))) at++;
    else break;
  }
  return checkAll(found);
}

/** The line after the comment. */
function endOfComment(lines: readonly string[], start: number): number {
  let at = start;
  while (at < lines.length && !(lines[at] ?? "").includes("*/", at === start ? 2 : 0)) at++;
  return Math.min(at + 1, lines.length);
}

function readLines(lines: readonly string[], start: number, found: string[]): number {
  let at = start;
  for (; lines[at]?.startsWith("//"); at++) found.push(checkSpecifier((lines[at] ?? "").slice(2).trim(), at + 1));
  return at;
}

function readPackageJson(lines: readonly string[], line: number): string[] {
  const text = lines.join("\n").slice(BLOCK_START.length);
  const dependencies = parseDependencies(text.slice(0, text.indexOf("*/")));
  if (!dependencies) throw new Refusal(`The comment "package.json" must be JSON with "dependencies": {"name": "version"}`, line);
  return Object.entries(dependencies).map(([name, range]) => checkSpecifier(`${name}@${String(range)}`, line));
}

function parseDependencies(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    const dependencies = isRecord(value) ? (value["dependencies"] ?? {}) : undefined;
    return isRecord(dependencies) ? dependencies : undefined;
  } catch {
    return undefined;
  }
}

/** A name of the index and perhaps a version: no URL, path, alias or option of npm. */
function checkSpecifier(given: string, line: number): string {
  const specifier = given.trim().split(/\s+/).join(" ");
  if (specifier.length <= MAX_CHARACTERS && SPECIFIER.test(specifier)) return specifier;
  throw new Refusal(
    `${JSON.stringify(specifier.slice(0, SHOWN_CHARACTERS))} is no npm requirement; write name or name@version, such as zod@^4`,
    line,
  );
}

function checkAll(found: readonly string[]): string[] {
  if (found.length > MAX_REQUIREMENTS)
    throw new Refusal(`There are ${found.length} requirements; at most ${MAX_REQUIREMENTS} can be`, null);
  return [...new Set(found)];
}
