import type { Line } from "./walk.ts";

const CHANGES_MAX = 60;

/** How a tree differs from what it was: a line each, `+` for what came, `-` for what went, `~` for what is otherwise. Empty: not at all. */
export function compare(before: readonly Line[], after: readonly Line[]): string {
  const [was, is] = [byKey(before), byKey(after)];
  const gone = before.filter(({ key }) => !is.has(key)).map(({ text }) => text.replace("- ", "- gone: "));
  const come = after.flatMap((line) => {
    const earlier = was.get(line.key);
    return earlier === undefined ? [line.text.replace("- ", "+ ")] : earlier.text === line.text ? [] : [line.text.replace("- ", "~ ")];
  });
  const all = [...come, ...gone];
  const left = all.length - CHANGES_MAX;
  return [...all.slice(0, CHANGES_MAX), ...(left > 0 ? [`[${left} more changes: read the page with browser_snapshot]`] : [])].join("\n");
}

function byKey(lines: readonly Line[]): ReadonlyMap<string, Line> {
  return new Map(lines.map((line) => [line.key, line]));
}
