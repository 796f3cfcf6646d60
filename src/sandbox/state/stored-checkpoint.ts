import * as z from "zod";
import { parseJson } from "../../files/parse-json.ts";
import { type Checkpoint, checkpointSchema } from "../wire/state-schemas.ts";

const schema = checkpointSchema.extend({
  version: z.literal(1),
  /** The state, the topmost layer first. */
  layers: z.array(z.string()).readonly(),
  /** Counts up along the time line: a clock may run back. Absent in one of an older release, which comes before all that have it. */
  order: z.number().int().nonnegative().optional(),
  /** The number of the line on which it was taken. */
  line: z.number().int().nonnegative().optional(),
  /** Which folder the workspace was. */
  workspaceMark: z.string().optional(),
  /** What lay below it on the host. */
  baseMark: z.string().optional(),
});

/** A checkpoint as the disk has it. Never changed. */
export type StoredCheckpoint = Readonly<z.output<typeof schema>>;

/** `unknown`: another release may have written it. Undefined for what a power cut has left of it. */
export function parseCheckpoint(text: string): StoredCheckpoint | "unknown" | undefined {
  const content = parseJson(text);
  if (content === undefined) return undefined;
  return schema.safeParse(content).data ?? "unknown";
}

export function toCheckpoint({
  version: _version,
  layers: _layers,
  order: _order,
  line: _line,
  workspaceMark: _mark,
  baseMark: _baseMark,
  ...told
}: StoredCheckpoint): Checkpoint {
  return told;
}
