import * as z from "zod";
import { parseJson } from "../../../files/parse-json.ts";
import { stampSchema } from "../stamp.ts";

/**
 * One step of an apply. Each is done by one system call, and the folder alone tells whether it was done:
 *
 *     step     done when                                    undone by
 *     take     `old` lies in the staging folder             giving it its place back
 *     place    what was staged lies at the path             removing it
 *     make     the folder is there                          removing it, if it is empty
 *     unmake   the folder is not there                      making it again
 *     mode     the path has the new mode                    giving it the old one
 */
const stepSchema = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("take"), key: z.string(), old: z.string(), before: stampSchema }),
  z.object({ kind: z.literal("place"), key: z.string(), staged: z.string(), after: stampSchema }),
  z.object({ kind: z.literal("make"), key: z.string() }),
  z.object({ kind: z.literal("unmake"), key: z.string(), before: stampSchema }),
  z.object({ kind: z.literal("mode"), key: z.string(), mode: z.number(), before: stampSchema.optional() }),
]);

export type Step = z.output<typeof stepSchema>;

const outcomeSchema = z.object({
  key: z.string(),
  /** The host's entry before, and after a complete apply; absent: none. */
  before: stampSchema.optional(),
  after: stampSchema.optional(),
  /** Whether the host's side was as it began. */
  isPlain: z.boolean(),
});

/** What one path of an apply was and became. */
export type Outcome = z.output<typeof outcomeSchema>;

const journalSchema = z.object({
  version: z.literal(1),
  id: z.string(),
  sandboxId: z.string(),
  hostPath: z.string(),
  /** Folder in the workspace with what is on its way. */
  staging: z.string(),
  /** The process that writes. */
  writer: z.string(),
  steps: z.array(stepSchema),
  outcomes: z.array(outcomeSchema),
  /** All is written, and what it became is known. */
  isComplete: z.boolean(),
});

export type ApplyJournal = z.output<typeof journalSchema>;

export function formatJournal(journal: ApplyJournal): string {
  return JSON.stringify(z.encode(journalSchema, journal));
}

/** Undefined when the text is no journal. */
export function parseJournal(text: string): ApplyJournal | undefined {
  return journalSchema.safeParse(parseJson(text)).data;
}
