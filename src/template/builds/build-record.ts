import * as z from "zod";
import { parseJson } from "../../files/parse-json.ts";
import { limitsSchema } from "../../sandbox/wire/fields.ts";
import { isProcessAlive } from "../../sandbox/workspace/apply/process-mark.ts";
import { type BuildInfo, buildSchema } from "../wire/build-schema.ts";

const schema = buildSchema.omit({ state: true }).extend({
  version: z.literal(1),
  /** The process that builds. Empty for one that is planned, and has not begun. */
  by: z.string(),
  /** Of one that was planned: the names that its template gets, the first of which is `name`. */
  names: z.array(z.string()).readonly().optional(),
  limits: limitsSchema.optional(),
  /** The step at which it failed. */
  step: z.number().optional(),
});

/** A build as the disk has it: written when it begins and when it ends. */
export type BuildRecord = Readonly<z.output<typeof schema>>;

const LOST = {
  code: "INTERNAL",
  message: "The server that built it has ended: build it again, the steps that were done are kept",
} as const;

/** Undefined when the text is no record of this build. */
export function parseBuild(id: string, text: string): BuildRecord | undefined {
  const record = schema.safeParse(parseJson(text)).data;
  return record?.id === id ? record : undefined;
}

export function writeBuild(record: BuildRecord): string {
  return JSON.stringify(z.encode(schema, record));
}

/** Whether it was planned and nothing more. */
export function isWaiting({ by, names, endedAt }: BuildRecord): boolean {
  return names !== undefined && by === "" && endedAt === undefined;
}

/** What a caller may know of it. */
export async function toBuild(record: BuildRecord): Promise<BuildInfo> {
  const { version: _, by, names: __, limits: ___, step: ____, ...told } = record;
  if (told.endedAt) return { ...told, state: told.error ? "failed" : "ready" };
  return (await isProcessAlive(by)) ? { ...told, state: "building" } : { ...told, state: "failed", error: LOST };
}
