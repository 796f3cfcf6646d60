/** Bytes that servers read in different ways: an encoded slash, backslash, NUL, percent sign or overlong character, and the plain backslash. */
const AMBIGUOUS = /%(?:2f|5c|00|25|c0|c1)|\\|%(?![0-9a-f]{2})|[^!-~]|#/i;
/** Dots with a parameter, which some servers drop before they resolve them. */
const DOTS_WITH_PARAMETER = /\/\.{1,2}(?:;|%3b)/i;
const UNRESERVED = /%(2d|2e|5f|7e|3[0-9]|[46][1-9a-f]|[57][0-9a])/gi;

/**
 * A path in the one form in which rules compare it: unreserved characters decoded, dots resolved, slashes single.
 * Undefined when servers may read it in another way.
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

/** A rule's path prefix; undefined when it cannot be one. */
export function toRulePath(path: string): string | undefined {
  return /[?,]/.test(path) ? undefined : toCanonicalPath(path);
}

/** Whether a canonical path is the prefix or lies below it. */
export function isBelow(path: string, prefix: string): boolean {
  return path === prefix || path.startsWith(`${prefix}/`);
}
