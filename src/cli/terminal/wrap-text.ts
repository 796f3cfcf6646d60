/** Narrower terminals break lines by themselves. */
const LEAST_COLUMNS = 40;
/** A text with less room beside its label stands below it. */
const LEAST_TEXT = 24;
const BELOW_LABEL = 4;

/**
 * Breaks lines between words where a terminal of so many columns would break them anywhere. The lines after a break stand below the text
 * of their line: a label before it ends with two spaces. Undefined columns: not for a terminal, and left as it is.
 */
export function wrapText(text: string, columns: number | undefined): string {
  if (columns === undefined) return text;
  const width = Math.max(columns, LEAST_COLUMNS);
  return text
    .split("\n")
    .map((line) => wrapLine(line, width))
    .join("\n");
}

function wrapLine(line: string, width: number): string {
  const indent = line.length - line.trimStart().length;
  const gap = line.lastIndexOf("  ");
  const start = gap < indent ? indent : gap + 2;
  if (start > indent && width - start < LEAST_TEXT) {
    const below = indent + BELOW_LABEL;
    return `${fill(line.slice(0, start).trim(), { first: indent, next: below, width })}\n${fill(line.slice(start), { first: below, next: below, width })}`;
  }
  if (line.length <= width) return line;
  if (start > indent) return line.slice(0, start) + fill(line.slice(start), { first: start, next: start, width }).trimStart();
  const at = width - indent < LEAST_TEXT ? BELOW_LABEL : indent;
  return fill(line.slice(indent), { first: at, next: at, width });
}

interface Filling {
  /** Where the first line begins, and the next ones. */
  readonly first: number;
  readonly next: number;
  readonly width: number;
}

/** A word that is longer than a line stays whole. */
function fill(text: string, { first, next, width }: Filling): string {
  const lines: string[] = [];
  const [start = "", ...words] = text.split(" ");
  let line = " ".repeat(first) + start;
  for (const word of words) {
    if (line.length + 1 + word.length <= width) line += ` ${word}`;
    else {
      lines.push(line);
      line = " ".repeat(next) + word;
    }
  }
  return [...lines, line].join("\n");
}
