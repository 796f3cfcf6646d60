/** Alternatives that braces may make of one pattern. */
const ALTERNATIVES_MAX = 64;
const TOKENS_MAX = 512;

type Token =
  | { readonly kind: "text"; readonly char: string }
  | { readonly kind: "one" }
  | { readonly kind: "star" }
  /** Any folders, with the slash after them. */
  | { readonly kind: "folders" }
  /** All that is left. */
  | { readonly kind: "rest" }
  | { readonly kind: "set"; readonly has: (char: string) => boolean };

export interface Glob {
  matches(path: string): boolean;
}

/**
 * A pattern for relative paths: `*` and `?` stay within a name, `**` crosses folders, `[a-z]`, `[!a-z]`, `{a,b}` and `\` as in shells.
 * Without a `/` it means the last name, at any depth. Matching takes time in proportion to path and pattern, whatever they are.
 * Undefined for a pattern that has too many alternatives or parts.
 */
export function parseGlob(pattern: string): Glob | undefined {
  const alternatives = expandBraces(pattern.replace(/\/+$/, ""));
  if (!alternatives) return undefined;
  const anywhere = (alternative: string): string => (alternative.includes("/") ? alternative.replace(/^\//, "") : `**/${alternative}`);
  const programs = alternatives.map((alternative) => tokenize(anywhere(alternative)));
  if (programs.some((tokens) => tokens.length > TOKENS_MAX)) return undefined;
  return { matches: (path) => programs.some((tokens) => run(tokens, path)) };
}

function expandBraces(pattern: string): readonly string[] | undefined {
  const open = findUnescaped(pattern, "{", 0);
  const close = open < 0 ? -1 : findClosing(pattern, open);
  if (close < 0) return [pattern];
  const expanded: string[] = [];
  for (const choice of splitChoices(pattern.slice(open + 1, close))) {
    const rest = expandBraces(pattern.slice(0, open) + choice + pattern.slice(close + 1));
    if (!rest || expanded.length + rest.length > ALTERNATIVES_MAX) return undefined;
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
    tokens.push(token);
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
  const ranges = [...(isNegated ? body.slice(1) : body).matchAll(/(.)-(.)|(.)/gsu)].map(([, from, to, single]) => [
    from ?? single ?? "",
    to ?? single ?? "",
  ]);
  const isIn = (char: string): boolean => ranges.some(([from, to]) => char >= (from ?? "") && char <= (to ?? ""));
  return { kind: "set", has: (char) => char !== "/" && isIn(char) !== isNegated };
}

/** Keeps the set of places in the pattern that the text so far may have led to. */
function run(tokens: readonly Token[], path: string): boolean {
  let places = skipFree(tokens, [0], true);
  for (const char of path) {
    const next: number[] = [];
    for (const place of places) step(tokens[place], { place, char }, next);
    if (next.length === 0) return false;
    places = skipFree(tokens, next, char === "/");
  }
  return places.has(tokens.length);
}

function step(token: Token | undefined, { place, char }: { readonly place: number; readonly char: string }, next: number[]): void {
  switch (token?.kind) {
    case "text":
      if (token.char === char) next.push(place + 1);
      break;
    case "one":
      if (char !== "/") next.push(place + 1);
      break;
    case "set":
      if (token.has(char)) next.push(place + 1);
      break;
    case "star":
      if (char !== "/") next.push(place);
      break;
    case "folders":
    case "rest":
      next.push(place);
      break;
    case undefined:
      break;
  }
}

/** Stars may stand for nothing; folders end where a name starts. */
function skipFree(tokens: readonly Token[], places: Iterable<number>, startsName: boolean): Set<number> {
  const reached = new Set<number>();
  for (const place of places) {
    for (let at = place; !reached.has(at); at += 1) {
      reached.add(at);
      const kind = tokens[at]?.kind;
      if (kind !== "star" && kind !== "rest" && !(kind === "folders" && startsName)) break;
    }
  }
  return reached;
}
