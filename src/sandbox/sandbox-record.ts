import * as z from "zod";
import { parseJson } from "../files/parse-json.ts";
import { lineageSchema } from "./lineage.ts";
import { networkPolicySchema } from "./network-schema.ts";
import { dateField, deadlineAction, endReason, limitName, textsSchema } from "./wire/fields.ts";
import { madeFields } from "./wire/sandbox-schema.ts";
import { startCommandSchema } from "./wire/start-command.ts";

const recordSchema = z.object({
  version: z.literal(1),
  ...madeFields,
  /** The runtime's own template below that of the home. Absent: `template` is the runtime's own. */
  base: z.string().min(1).optional(),
  /** As which its commands run that name nobody. Absent: as the runtime's template says. */
  user: z.string().min(1).optional(),
  /** What each of its runs begins with. */
  start: startCommandSchema.optional(),
  /** What the template shows inside: a later run shows the same, whatever became of the template. */
  inside: z.object({ env: textsSchema, home: z.string().min(1), workspace: z.string().min(1), cwd: z.string().min(1) }),
  /** Limits without which none of its runs may be. */
  required: z.array(limitName).readonly(),
  /** The process that makes it: while that lives, a sandbox this young may still be in the making. */
  creator: z.object({ pid: z.number().int().positive(), startedMs: z.number() }),
  /** The first one; the keeper knows the one that holds. */
  deadline: dateField,
  /** How far each extension of a default sandbox reaches. */
  timeoutMs: z.number().positive(),
  /** What happens at the deadline, as its maker chose. Absent: `kill`. What was chosen later is in the state of its runs. */
  onDeadline: deadlineAction.optional(),
  /** What it was made with; what it may reach now is in its network file once that changed. */
  network: networkPolicySchema,
  /** The most that a caller may give it on whom a model has a hand; absent: the same. */
  networkCeiling: networkPolicySchema.optional(),
  /** What of it may lead to places that are not of the public Internet; absent: all of its exact rules. */
  networkInside: networkPolicySchema.optional(),
  /** What its variables hold in place of the secrets' values. */
  placeholders: textsSchema.optional(),
  env: textsSchema,
  /** The states that it comes from, the nearest first. Its first run begins with that one. Absent: it began with a template alone. */
  lineage: lineageSchema.optional(),
  ephemeral: z.boolean(),
  /** In no list, and found by no id: what runs in it is not its owner's to see. It counts against the owner's quotas all the same. */
  isHidden: z.boolean().optional(),
  /** Whose secrets it uses. Absent: its owner's. */
  secretsOf: z.string().min(1).optional(),
});

/** What the journal says of a sandbox. Written once, before anybody can learn its id, and never changed. */
export type SandboxRecord = Readonly<z.output<typeof recordSchema>>;

const tombstoneSchema = z.object({
  reason: endReason,
  at: dateField,
  /** Whether the runtime has said that nothing of it is left. */
  isCleared: z.boolean(),
});

/** How a sandbox ended. */
export type Tombstone = Readonly<z.output<typeof tombstoneSchema>>;

/** Undefined when the text is no record of this sandbox. */
export function parseRecord(id: string, text: string): SandboxRecord | undefined {
  const record = recordSchema.safeParse(parseJson(text)).data;
  return record?.id === id ? record : undefined;
}

/** Undefined when the text is no tombstone. */
export function parseTombstone(text: string): Tombstone | undefined {
  return tombstoneSchema.safeParse(parseJson(text)).data;
}
