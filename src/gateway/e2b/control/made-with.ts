import * as z from "zod";
import { parseJson } from "../../../files/parse-json.ts";

/**
 * What a client of E2B said of a sandbox that the domain has no word for. It is a label of the sandbox's, which E2B's own metadata never shows. A
 * caller who writes it by another way changes its own sandbox alone, and opens nothing: what it says is held against the configuration where it is used.
 */
const LABEL = "belljar.e2b";

const schema = z.object({
  /** As the client named it. */
  template: z.string(),
  /** Its lifetime, in seconds. Absent: it was made by an earlier release. */
  timeout: z.number().int().positive().max(315_360_000).optional(),
  /** Paused at its deadline, and not killed. */
  autoPause: z.boolean().optional(),
  /** false: such a pause keeps its files alone. */
  autoPauseMemory: z.boolean().optional(),
  autoResume: z.boolean().optional(),
  allowPublicTraffic: z.boolean().optional(),
  maskRequestHost: z.string().optional(),
});

export type MadeWith = Readonly<z.output<typeof schema>>;
type Labels = Readonly<Record<string, string>>;

export function toLabels(metadata: Labels, made: MadeWith): Labels {
  return { ...metadata, [LABEL]: JSON.stringify(made) };
}

/** Undefined for a sandbox that was not made by E2B's API. */
export function madeWith(labels: Labels): MadeWith | undefined {
  const text = labels[LABEL];
  return text === undefined ? undefined : schema.safeParse(parseJson(text)).data;
}

export function metadataOf(labels: Labels): Labels {
  const { [LABEL]: _, ...metadata } = labels;
  return metadata;
}
