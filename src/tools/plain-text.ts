// oxlint-disable-next-line no-control-regex
const ESCAPES = /\u001b(?:\[[0-?]*[ -/]*[@-~]|\][^\u0007\u001b]*(?:\u0007|\u001b\\)|[PX^_][^\u001b]*\u001b\\|[ -/]*[0-~])/g;
// oxlint-disable-next-line no-control-regex
const CONTROLS = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f]/g;

const OVERWRITTEN = /[^\r\n]\r+[^\r\n]/;

const NO_UTF8 = "\uFFFD";
/** Programs and archives have more that is no UTF-8, or NUL; texts in Latin letters of another encoding have less. */
const UNREADABLE_MOST = 0.2;

export interface PlainText {
  readonly text: string;
  /** In words, what the text lacks: earlier forms of a line, as all lines of a file but the last where they end with CR alone, or all of it. */
  readonly leftOut?: string;
}

/**
 * What a terminal would show at the end: without colours, NULs and other controls, of a line that was written over its last form. Nothing of
 * what is no text: `bytes` is how much that was.
 */
export function plainText(text: string, bytes: number): PlainText {
  if (isBinary(text)) return { text: "", leftOut: `${bytes} binary bytes left out` };
  const lines = text.replaceAll(ESCAPES, "").replaceAll(CONTROLS, "");
  if (!lines.includes("\r")) return { text: lines };
  const shown = lines.split("\n").map(lastForm).join("\n");
  return OVERWRITTEN.test(lines) ? { text: shown, leftOut: "overwritten lines left out" } : { text: shown };
}

/** For the last line of a result. `hasRaw`: the tool has that argument. */
export function tellLeftOut(texts: readonly PlainText[], hasRaw: boolean): readonly string[] {
  const all = new Set(texts.flatMap(({ leftOut }) => leftOut ?? []));
  return Array.from(all, (leftOut) => (hasRaw ? `${leftOut}; raw: true shows them` : leftOut));
}

/** A list of names with NULs between them is a text. */
function isBinary(text: string): boolean {
  const broken = count(text, NO_UTF8);
  return broken > 0 && broken + count(text, "\0") > text.length * UNREADABLE_MOST;
}

function count(text: string, character: string): number {
  let found = 0;
  for (let at = text.indexOf(character); at >= 0; at = text.indexOf(character, at + 1)) found += 1;
  return found;
}

function lastForm(line: string): string {
  let end = line.length;
  while (line[end - 1] === "\r") end -= 1;
  return line.slice(line.lastIndexOf("\r", end - 1) + 1, end);
}
