import * as z from "zod";
import { parseJson } from "../../files/parse-json.ts";
import { lineageSchema } from "../lineage.ts";
import { autoCheckpoint, limitName, limitsSchema, textsSchema } from "../wire/fields.ts";
import { startCommandSchema } from "../wire/start-command.ts";
import { type SnapshotInfo, snapshotSchema } from "../wire/state-schemas.ts";

/** What the sandboxes that are made from a state inherit, where their maker says nothing. */
const inherited = {
  base: z.string().min(1).optional(),
  user: z.string().min(1).optional(),
  start: startCommandSchema.optional(),
  inside: z.object({ env: textsSchema, home: z.string().min(1), workspace: z.string().min(1), cwd: z.string().min(1) }),
  limits: limitsSchema,
  required: z.array(limitName).readonly(),
  timeoutMs: z.number().positive(),
  metadata: textsSchema,
  env: textsSchema,
  root: z.boolean().optional(),
  nestedFilters: z.boolean().optional(),
  autoCheckpoint: autoCheckpoint.optional(),
  /** Of forks alone: a sandbox that is made from the snapshot names its own. */
  volumes: z
    .array(z.object({ id: z.string(), name: z.string(), path: z.string() }))
    .readonly()
    .optional(),
} as const;

const schema = snapshotSchema.extend({
  version: z.literal(1),
  ...inherited,
  /** No principal has it. */
  isHidden: z.literal(true).optional(),
  /** Of the default sandbox that it is of. */
  defaultName: z.string().optional(),
  /** Which folder the workspace was. */
  workspaceMark: z.string().optional(),
  /** What lay below it on the host. */
  baseMark: z.string().optional(),
  /** The nearest state is this snapshot's own. */
  lineage: lineageSchema,
});

/** A snapshot as the disk has it. Written once, and never changed. */
export type SnapshotRecord = Readonly<z.output<typeof schema>>;

/** Undefined when the text is no record of this snapshot. */
export function parseSnapshot(id: string, text: string): SnapshotRecord | undefined {
  const record = schema.safeParse(parseJson(text)).data;
  return record?.id === id ? record : undefined;
}

const TOLD = Object.keys(snapshotSchema.shape) as readonly (keyof typeof snapshotSchema.shape)[];

/** What a caller may know of a snapshot. */
export function toSnapshotInfo(record: SnapshotRecord): SnapshotInfo {
  const fields = TOLD.flatMap((name) => (record[name] === undefined ? [] : [[name, record[name]] as const]));
  return Object.fromEntries(fields) as SnapshotInfo;
}

/** The layers of the snapshot's state. */
export function layersOf({ lineage }: SnapshotRecord): readonly string[] {
  return lineage[0]?.layers ?? [];
}

/** The user of these layers. */
export function userOf({ id }: Pick<SnapshotRecord, "id">): string {
  return `snapshot-${id}`;
}
