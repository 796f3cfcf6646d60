import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { markdownTable } from "./table.mjs";

/** What a person wrote below this line stays when the figures above it are made anew. */
const BY_HAND = "<!-- By hand from here on. -->";

/** `docs/benchmarks.md`: the machine, a table for each user, the notes. */
export function writeReport(path, { at, machine, suites }) {
  const { cpu, cores, memoryGiB, kernel, node } = machine;
  const parts = [
    "# Benchmarks",
    `${suites.map(howItStands).join(" ")} The tables mark the others with **no**, and the text below them says what stands in the way.`,
    "Made by `npm run bench -- --markdown docs/benchmarks.md`: run it to get the figures of your machine.",
    `${cpu}, ${cores} cores, ${memoryGiB} GiB, Linux ${kernel}, Node ${node.slice(1)}, on ${at.slice(0, 10)}.`,
    "Each figure stands beside a reference of the same run, taken in turn with it. Ratios and goals are of medians.",
    "F is Node's own `spawn` of `/bin/true`, from the call to `close`: nothing that starts a process from Node is quicker.",
    ...suites.flatMap(section),
    `${BY_HAND}${handWritten(path)}`,
  ];
  writeFileSync(path, `${parts.join("\n\n").trimEnd()}\n`);
}

/** The first thing that a reader wants to know: how many goals are reached, and what could not be measured. */
export function howItStands({ who, rows }) {
  const judged = rows.filter(({ isReached }) => isReached !== undefined);
  const failed = rows.filter((row) => row.failed).map(({ what }) => what);
  const reached = `As ${who}, ${judged.filter(({ isReached }) => isReached).length} of ${judged.length} goals are reached.`;
  return failed.length === 0 ? reached : `${reached} Not measured: ${failed.join("; ")}.`;
}

function section({ who, rows }) {
  const notes = rows.filter(({ note }) => note).map(({ what, note }) => `- ${what}: ${note}.`);
  return [`## As ${who}`, markdownTable(rows), ...(notes.length > 0 ? [notes.join("\n")] : [])];
}

function handWritten(path) {
  const text = existsSync(path) ? readFileSync(path, "utf8") : "";
  return text.includes(BY_HAND) ? text.slice(text.indexOf(BY_HAND) + BY_HAND.length) : "";
}
