/** Bytes that servers interpret differently: an encoded slash, backslash, NUL, percent sign or overlong character, and a backslash. */
const AMBIGUOUS = /%(?:2f|5c|00|25|c0|c1)|\\|%(?![0-9a-f]{2})|[^!-~]|#/i;
/** Dot segments with a parameter. Some servers drop the parameter before they resolve the dots. */
const DOTS_WITH_PARAMETER = /\/\.{1,2}(?:;|%3b)/i;
const UNRESERVED = /%(2d|2e|5f|7e|3[0-9]|[46][1-9a-f]|[57][0-9a])/gi;

/**
 * Returns the canonical form of a path, which rules compare: unreserved characters decoded, dots resolved, single slashes.
 * Returns undefined if servers may interpret the path differently.
 */
export function toCanonicalPath(path: string): string | undefined {
  if (!path.startsWith("/") || AMBIGUOUS.test(path)) return undefined;
  const plain = path.replaceAll(UNRESERVED, (_match, code: string) => String.fromCodePoint(Number.parseInt(code, 16)));
  if (DOTS_WITH_PARAMETER.test(plain)) return undefined;
  const segments = plain.split("/");
  const kept: string[] = [];
  for (const segment of segments) {
    if (segment === "..") kept.pop();
    else if (segment !== "." && segment !== "") kept.push(segment);
  }
  const isFolder = ["", ".", ".."].includes(segments.at(-1) ?? "");
  return `/${kept.join("/")}${isFolder && kept.length > 0 ? "/" : ""}`;
}

/** Returns the canonical path prefix of a rule, or undefined if it is invalid. */
export function toRulePath(path: string): string | undefined {
  return /[?,]/.test(path) ? undefined : toCanonicalPath(path);
}

/** Returns true if a canonical path equals the prefix or is below it. */
export function isBelow(path: string, prefix: string): boolean {
  return path === prefix || path.startsWith(`${prefix}/`);
}
