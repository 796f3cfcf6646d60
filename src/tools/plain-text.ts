// oxlint-disable-next-line no-control-regex
const ESCAPES = /\u001b(?:\[[0-?]*[ -/]*[@-~]|\][^\u0007\u001b]*(?:\u0007|\u001b\\)|[PX^_][^\u001b]*\u001b\\|[ -/]*[0-~])/g;
// oxlint-disable-next-line no-control-regex
const CONTROLS = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f]/g;

/** What a terminal would show at the end: without colours, NULs and other controls, of a line that was written over its last form. */
export function plainText(text: string): string {
  const lines = text.replaceAll(ESCAPES, "").replaceAll(CONTROLS, "");
  return lines.includes("\r") ? lines.split("\n").map(lastForm).join("\n") : lines;
}

function lastForm(line: string): string {
  let end = line.length;
  while (line[end - 1] === "\r") end -= 1;
  return line.slice(line.lastIndexOf("\r", end - 1) + 1, end);
}
