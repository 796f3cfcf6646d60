import * as z from "zod";
import { copyReason, dateField, workspaceSchema } from "./fields.ts";

/** How a state was frozen, for who looks at what it cost. */
const frozen = {
  way: z.enum(["clone", "copy"]).describe("clone: in constant time. copy: what the sandbox had written was copied"),
  copyReason: copyReason
    .optional()
    .describe(
      "Why it was copied. programs: one beside the sandbox's own first process was alive, such as a kernel of run_code, programs may set filters of their own, or the disk was full. durable: a snapshot, off btrfs. depth: too many checkpoints in a row. place: layers cannot be moved here",
    ),
  stillMs: z.number().describe("How long the programs of the sandbox stood still, in milliseconds"),
} as const;

/** A snapshot as every answer shows it. */
export const snapshotSchema = z.object({
  id: z.string().regex(/^[a-z0-9]{20}$/),
  name: z.string().optional().describe("What its maker calls it. No two snapshots of an owner have the same"),
  description: z.string().optional(),
  owner: z.string().min(1).describe("Id of the principal that it belongs to"),
  project: z.string().optional().describe("Folder of the host for whose work the sandbox was made"),
  sandbox: z.string().describe("Id of the sandbox whose files it holds; that may have ended"),
  runtime: z.string().min(1),
  template: z.string().min(1).describe("What that sandbox started from"),
  createdAt: dateField,
  workspace: workspaceSchema
    .optional()
    .describe("Folder of the host that the sandbox showed. Its files lie below the snapshot, and are not in it"),
  tookIn: z.string().min(1).optional().describe("Folder of the host whose files are in it"),
  ...frozen,
});

export type SnapshotInfo = Readonly<z.output<typeof snapshotSchema>>;

export const snapshotsSchema = z.object({ snapshots: z.array(snapshotSchema).readonly() });

export const checkpointSchema = z.object({
  id: z.string().regex(/^[a-z0-9]{8}$/),
  label: z.string().optional(),
  createdAt: dateField,
  parent: z.string().optional().describe("The checkpoint that the sandbox had come from"),
  before: z
    .string()
    .optional()
    .describe("Name of the tool before whose call it was taken unasked. Calls that began together share one, which names all their tools"),
  ...frozen,
});

export type Checkpoint = Readonly<z.output<typeof checkpointSchema>>;

export const timeLineSchema = z.object({
  checkpoints: z.array(checkpointSchema).readonly().describe("The oldest first"),
  head: z.string().optional().describe("The checkpoint, or snapshot of it, that the sandbox comes from now"),
  calls: z
    .array(z.string())
    .readonly()
    .optional()
    .describe("The checkpoints before the calls whose changes the files hold now, the latest first. A rollback to one takes its call back"),
});

export type TimeLineInfo = Readonly<z.output<typeof timeLineSchema>>;

/** What one path was, and what it is. */
export const pointChangeSchema = z.object({
  path: z.string().describe("Absolute, inside. Bytes that are not UTF-8 are replaced"),
  kind: z.enum(["added", "changed", "removed", "renamed"]),
  type: z.enum(["file", "directory", "link", "other"]),
  from: z.string().optional().describe("Of a rename: the old path"),
  patch: z.string().optional().describe("A unified diff, of a text that is not too long"),
});

export type PointChange = Readonly<z.output<typeof pointChangeSchema>>;

export const pointDiffSchema = z.object({
  changes: z.array(pointChangeSchema).readonly(),
  /** A diff of all of a disk is shown in part. */
  omitted: z.number().int().nonnegative().describe("Further changes that are not shown"),
});

export type PointDiff = Readonly<z.output<typeof pointDiffSchema>>;

export const conflictSchema = z.object({ path: z.string(), reason: z.string().describe("Why it was left as it is") });

/** Of an undo and of a merge: nothing else was touched. */
export const changedPathsSchema = z.object({
  changed: z.array(z.string()).readonly().describe("Paths that were written or removed in the sandbox"),
  conflicts: z.array(conflictSchema).readonly(),
});

export type ChangedPaths = Readonly<z.output<typeof changedPathsSchema>>;

export const rollbackSchema = z.object({
  checkpoint: z.string(),
  ended: z.array(z.string()).readonly().describe("Contexts and background processes that ended with it"),
  lost: z
    .array(z.string())
    .readonly()
    .describe("A sentence for each thing that a rollback cannot bring back, such as a changed workspace on the host"),
});

export type RollbackInfo = Readonly<z.output<typeof rollbackSchema>>;

/** A line that a person reads. */
const line = (max: number) =>
  z
    .string()
    .min(1)
    .max(max)
    .refine((text) => !/\p{Cc}/u.test(text), "must not hold control characters");

/** What a snapshot's maker may say. */
export const snapshotOptionsSchema = z.strictObject({
  name: line(63).optional(),
  description: line(1_000).optional(),
  whole: z
    .boolean()
    .optional()
    .describe("Takes in the files of the workspace's folder too. Forks show no folder of the host then: the files are their own"),
});

export type SnapshotOptions = Readonly<z.output<typeof snapshotOptionsSchema>>;

export const checkpointOptionsSchema = z.strictObject({ label: line(200).optional() });

export type CheckpointOptions = Readonly<z.output<typeof checkpointOptionsSchema>>;

/** A point of a time line: the id of a checkpoint of the sandbox or of a snapshot of it. */
const point = z.string().min(1).max(64);

export const comparedPointsSchema = z.strictObject({
  from: point.describe("Id of a checkpoint, or of a snapshot"),
  to: point.optional().describe("The same. Default: the sandbox as it is now"),
  paths: z.array(z.string().min(1).max(4_096)).max(256).optional().describe("Only these and what is below them"),
});

export type ComparedPoints = Readonly<z.output<typeof comparedPointsSchema>>;
