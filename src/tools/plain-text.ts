// oxlint-disable-next-line no-control-regex
const ESCAPES = /\u001b(?:\[[0-?]*[ -/]*[@-~]|\][^\u0007\u001b]*(?:\u0007|\u001b\\)|[PX^_][^\u001b]*\u001b\\|[ -/]*[0-~])/g;
// oxlint-disable-next-line no-control-regex
const CONTROLS = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f]/g;

const OVERWRITTEN = /[^\r\n]\r+[^\r\n]/;

/** For the last line of a result. */
export const OVERWRITTEN_NOTE = "overwritten lines left out";

export interface PlainText {
  readonly text: string;
  /** The text lacks earlier forms of a line, as it lacks all but the last line of a file whose lines end with CR alone. */
  readonly isOverwritten: boolean;
}

/** What a terminal would show at the end: without colours, NULs and other controls, of a line that was written over its last form. */
export function plainText(text: string): PlainText {
  const lines = text.replaceAll(ESCAPES, "").replaceAll(CONTROLS, "");
  if (!lines.includes("\r")) return { text: lines, isOverwritten: false };
  return { text: lines.split("\n").map(lastForm).join("\n"), isOverwritten: OVERWRITTEN.test(lines) };
}

function lastForm(line: string): string {
  let end = line.length;
  while (line[end - 1] === "\r") end -= 1;
  return line.slice(line.lastIndexOf("\r", end - 1) + 1, end);
}
