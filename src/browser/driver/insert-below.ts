interface Inserted {
  /** Of the element with the document. */
  readonly ref: string;
  /** The tree of the document. */
  readonly inner: string;
  /** How far to the right the whole tree will stand. */
  readonly indent: number;
  readonly maxBytes: number;
}

/**
 * A tree with that of a frame one level below the line of its element. What is added takes `maxBytes` at most where it will stand, and is cut at
 * a line: how deep a page nests its frames makes nothing longer.
 */
export function insertBelow(text: string, { ref, inner, indent, maxBytes }: Inserted): string {
  const lines = text.split("\n");
  const at = findLine(lines, ref);
  if (inner === "" || at < 0) return text;
  const blanks = " ".repeat(indentBelow(text, ref));
  const last = `${blanks}[cut: browser_snapshot with ref ${ref}]`;
  const indented = inner.split("\n").map((line) => blanks + line);
  lines.splice(at + 1, 0, ...cut(indented, { last, indent, maxBytes }));
  return lines.join("\n");
}

/** How far to the right the tree of a frame stands. */
export function indentBelow(text: string, ref: string): number {
  const lines = text.split("\n");
  const line = lines[findLine(lines, ref)] ?? "";
  return line.length - line.trimStart().length + 2;
}

/** Of a tree that stands so far to the right, with the ends of its lines. */
export function bytesAt(text: string, indent: number): number {
  return text.split("\n").reduce((sum, line) => sum + lineBytes(line, indent), 0);
}

function findLine(lines: readonly string[], ref: string): number {
  return lines.findIndex((line) => line.endsWith(`[${ref}]`));
}

function cut(
  lines: readonly string[],
  { last, indent, maxBytes }: Pick<Inserted, "indent" | "maxBytes"> & { readonly last: string },
): readonly string[] {
  if (bytesAt(lines.join("\n"), indent) <= maxBytes) return lines;
  let left = maxBytes - lineBytes(last, indent);
  const count = lines.findIndex((line) => (left -= lineBytes(line, indent)) < 0);
  return [...lines.slice(0, count), last];
}

function lineBytes(line: string, indent: number): number {
  return Buffer.byteLength(line) + indent + 1;
}
