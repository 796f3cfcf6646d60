/** Alternatives that braces may make of one pattern, and the characters that they may have together. */
const ALTERNATIVES_MAX = 64;
const EXPANDED_MAX = 4_096;

export type Token =
  | { readonly kind: "text"; readonly char: string }
  | { readonly kind: "one" }
  | { readonly kind: "star" }
  /** Any folders, with the slash after them. */
  | { readonly kind: "folders" }
  /** All that is left. */
  | { readonly kind: "rest" }
  /** Code points from the first to the second of each pair; a slash is in no set. */
  | { readonly kind: "set"; readonly isNegated: boolean; readonly ranges: readonly (readonly [number, number])[] };

/** A pattern's alternatives. */
export type Glob = readonly (readonly Token[])[];

/**
 * A pattern for relative paths: `*` and `?` stay within a name, `**` crosses folders, `[a-z]`, `[!a-z]`, `{a,b}` and `\` as in shells.
 * Without a `/` it means the last name, at any depth. Undefined for a pattern that has too many alternatives or parts.
 */
export function parseGlob(pattern: string): Glob | undefined {
  const alternatives = expandBraces(pattern.replace(/(?<!\/)\/+$/, ""));
  if (!alternatives) return undefined;
  const anywhere = (alternative: string): string => (alternative.includes("/") ? alternative.replace(/^\//, "") : `**/${alternative}`);
  return alternatives.map((alternative) => tokenize(anywhere(alternative)));
}

/** How much work a glob is for each character of a path. */
export function countParts(glob: Glob): number {
  return glob.flat().reduce((sum, token) => sum + (token.kind === "set" ? token.ranges.length : 0), glob.length + glob.flat().length);
}

function expandBraces(pattern: string): readonly string[] | undefined {
  const open = findUnescaped(pattern, "{", 0);
  const close = open < 0 ? -1 : findClosing(pattern, open);
  if (close < 0) return [pattern];
  const expanded: string[] = [];
  let size = 0;
  for (const choice of splitChoices(pattern.slice(open + 1, close))) {
    const rest = expandBraces(pattern.slice(0, open) + choice + pattern.slice(close + 1));
    size += rest?.reduce((sum, one) => sum + one.length, 0) ?? 0;
    if (!rest || expanded.length + rest.length > ALTERNATIVES_MAX || size > EXPANDED_MAX) return undefined;
    expanded.push(...rest);
  }
  return expanded;
}
function findUnescaped(pattern: string, char: string, from: number): number {
  for (let at = from; at < pattern.length; at += 1) {
    if (pattern[at] === "\\") at += 1;
    else if (pattern[at] === char) return at;
  }
  return -1;
}

function findClosing(pattern: string, open: number): number {
  let depth = 0;
  for (let at = open; at < pattern.length; at += 1) {
    if (pattern[at] === "\\") at += 1;
    else if (pattern[at] === "{") depth += 1;
    else if (pattern[at] === "}" && (depth -= 1) === 0) return at;
  }
  return -1;
}

function splitChoices(text: string): readonly string[] {
  const choices = [""];
  let depth = 0;
  for (let at = 0; at < text.length; at += 1) {
    const char = text[at] ?? "";
    if (char === "{") depth += 1;
    if (char === "}") depth -= 1;
    if (char === "," && depth === 0) choices.push("");
    else choices[choices.length - 1] += char === "\\" ? char + (text[(at += 1)] ?? "") : char;
  }
  return choices;
}

function tokenize(pattern: string): readonly Token[] {
  const tokens: Token[] = [];
  for (let at = 0; at < pattern.length;) {
    const [token, length] = readToken(pattern, at);
    // Two of what may stand for nothing mean the same as one.
    if (token.kind !== tokens.at(-1)?.kind || (token.kind !== "star" && token.kind !== "folders")) tokens.push(token);
    at += length;
  }
  return tokens;
}

function readToken(pattern: string, at: number): readonly [Token, number] {
  const char = pattern[at] ?? "";
  if (char === "\\" && at + 1 < pattern.length) return [{ kind: "text", char: pattern[at + 1] ?? "" }, 2];
  if (char === "?") return [{ kind: "one" }, 1];
  const startsName = at === 0 || pattern[at - 1] === "/";
  if (startsName && pattern.startsWith("**/", at)) return [{ kind: "folders" }, 3];
  if (startsName && pattern.slice(at) === "**") return [{ kind: "rest" }, 2];
  if (char === "*") return [{ kind: "star" }, 1];
  const close = char === "[" ? pattern.indexOf("]", at + 2) : -1;
  return close < 0 ? [{ kind: "text", char }, 1] : [toSet(pattern.slice(at + 1, close)), close - at + 1];
}

function toSet(body: string): Token {
  const isNegated = /^[!^]/.test(body);
  const pairs = (isNegated ? body.slice(1) : body).matchAll(/(.)-(.)|(.)/gsu);
  const ranges = [...pairs].map(([, from, to, single = ""]) => [codeOf(from ?? single), codeOf(to ?? single)] as const);
  return { kind: "set", isNegated, ranges };
}

function codeOf(char: string): number {
  return char.codePointAt(0) ?? 0;
}
