import * as z from "zod";
import type { ToolContext } from "../../catalog/tool.ts";
import { defineTool } from "../../catalog/tool.ts";
import { textResult } from "../../catalog/tool-result.ts";
import { lastCheckpoint } from "../../sandbox/state/last-checkpoint.ts";
import type { PointChange, PointDiff } from "../../sandbox/wire/state-schemas.ts";
import { pointChangeSchema } from "../../sandbox/wire/state-schemas.ts";
import { acceptPoints } from "../other-names.ts";
import { SHOWN_BYTES, SHOWN_LINES } from "../max-bytes.ts";
import { factLine } from "../output-text.ts";
import { toAbsolute } from "../sandbox-path.ts";
import { describeRest, fitRows, heldRows } from "../shown-rows.ts";
import { ownIdArgument } from "./sandbox-results.ts";
import { pathsArgument } from "./state-results.ts";

const BOUNDS = { rows: SHOWN_LINES, bytes: SHOWN_BYTES };

const point = (meaning: string) => z.string().min(1).max(64).optional().describe(meaning);

const Input = z.strictObject({
  id: ownIdArgument(),
  from: point("Checkpoint or snapshot of this sandbox; default: its last checkpoint"),
  to: point("The same; default: the files as they are now"),
  paths: pathsArgument("Only these files and folders"),
});

const Value = z.object({
  from: z.string(),
  to: z.string().nullable().describe("null: as it is now"),
  changes: z.array(pointChangeSchema),
  omitted: z.number().int().describe("Further changes that are not in the list"),
});

export const sandboxDiff = defineTool({
  name: "sandbox_diff",
  title: "Show what changed since a checkpoint",
  description:
    "Lists the files of your sandbox that were added, changed, removed or renamed since a checkpoint, or between two, with diffs of texts.",
  toolset: "sandbox",
  annotations: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
  accept: acceptPoints,
  input: Input,
  value: Value,
  async run(context, { id, from, to, paths }) {
    const sandbox = await context.sandbox(id, { asIs: true });
    const start = from ?? (await lastCheckpoint(sandbox));
    const points = {
      from: start,
      ...(to !== undefined && { to }),
      ...(paths && { paths: paths.map((path) => toAbsolute(sandbox, path)) }),
    };
    const diff = await sandbox.timeLine.diff(points, context.signal);
    const changes = fitRows(diff.changes, heldRows(BOUNDS), (change) => JSON.stringify(change));
    const omitted = diff.omitted + diff.changes.length - changes.length;
    return textResult({ from: start, to: to ?? null, changes, omitted }, toText(context, diff, { from: start, to: to ?? "now" }));
  },
});

function toText({ results }: ToolContext, { changes, omitted }: PointDiff, points: { readonly from: string; readonly to: string }): string {
  const patches = changes.flatMap(({ patch }) => (patch === undefined ? [] : ["", ...patch.trimEnd().split("\n")]));
  const lines = [...changes.map(toLine), ...patches];
  const shown = fitRows(lines, BOUNDS, (line) => line);
  const rest = describeRest({ results }, { lines, shown: shown.length, isFull: omitted > 0 }, "name paths alone");
  return [...shown, ...rest, factLine({ ...points, changes: changes.length + omitted })].join("\n");
}

function toLine({ kind, type, path, from }: PointChange): string {
  const end = type === "directory" ? "/" : "";
  return `${kind.padEnd(7)} ${from === undefined ? "" : `${oneLine(from)}${end} -> `}${oneLine(path)}${end}`;
}

/** A name may hold line breaks, which would look like further changes. */
function oneLine(path: string): string {
  return /\p{Cc}/u.test(path) ? JSON.stringify(path) : path;
}
