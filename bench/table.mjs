/** Rows as a person reads them. */
const HEAD = ["what", "p50", "p95", "p99", "reference", "its p50 / p95 / p99", "ratio", "goal", "reached"];
const REACHED = new Map([
  [true, "yes"],
  [false, "**no**"],
]);

/** What a row says in place of figures. */
const reason = ({ failed, omitted }) => (failed ? `**failed: ${failed}**` : omitted && `left out: ${omitted}`);

/**
 * Adds what follows from the figures: the ratio of the medians, and whether the goal is reached, where there is one: a ratio
 * (`goal`), a figure of its own (`most`), or what may come on top of the reference (`added`). A row without samples has failed, unless it
 * says why it was left out.
 */
export function judge(row) {
  if (row.omitted !== undefined) return row;
  const { unit = "ms", measured, reference, goal, most, worst, added } = row;
  if (![measured, ...(reference ? [reference] : [])].every((figures) => Number.isFinite(figures?.p50)))
    return { ...row, failed: "no samples" };
  const ratio = reference && measured.p50 / reference.p50;
  if (goal !== undefined) return { ...row, unit, ratio, isReached: ratio <= goal };
  if (added !== undefined) return { ...row, unit, ratio, isReached: measured.p50 - reference.p50 <= added };
  return { ...row, unit, ratio, ...(most !== undefined && { isReached: (worst ?? measured.p50) <= most }) };
}

function cells(row) {
  if (reason(row)) return [row.what, reason(row), ...HEAD.slice(2).map(() => "")];
  const { what, measured, beside = "", reference, unit, ratio, isReached } = row;
  return [
    what,
    ...[measured.p50, measured.p95, measured.p99].map((value) => `${number(value)} ${unit}`),
    beside,
    reference ? [reference.p50, reference.p95, reference.p99].map(number).join(" / ") : "",
    ratio === undefined ? "" : `${ratio.toFixed(2)}x`,
    goalOf(row),
    REACHED.get(isReached) ?? "",
  ];
}

function goalOf({ goal, most, added, unit }) {
  if (goal !== undefined) return `<= ${goal}x`;
  if (added !== undefined) return `<= +${added} ${unit}`;
  return most === undefined ? "" : `<= ${most} ${unit}`;
}

function number(value) {
  return value.toFixed(Math.abs(value) >= 100 ? 0 : 2);
}

export function markdownTable(rows) {
  const lines = [HEAD, HEAD.map(() => "---"), ...rows.map(cells)];
  return lines.map((line) => `| ${line.join(" | ")} |`).join("\n");
}

export function textTable(rows) {
  const lines = [HEAD, ...rows.map(cells)].map((line) => line.map((cell) => cell.replaceAll("*", "")));
  const widths = HEAD.map((_, column) => Math.max(...lines.map((line) => line[column].length)));
  return lines
    .map((line) =>
      line
        .map((cell, column) => cell.padEnd(widths[column]))
        .join("  ")
        .trimEnd(),
    )
    .join("\n");
}
