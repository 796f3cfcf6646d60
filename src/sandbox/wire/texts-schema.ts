import * as z from "zod";

const ENTRIES_MAX = 256;
const NAME_MAX = 128;
const BYTES_MAX = 65_536;

/** The labels of a sandbox, wherever they come in. */
export const labelsSchema = textsSchema(/^[^\0]+$/);

/** The variables of a sandbox, wherever they come in. */
export const variablesSchema = textsSchema(/^[A-Za-z_][A-Za-z0-9_]*$/);

/** The secrets of a build, by their ids. */
export const secretsSchema = textsSchema(/^[A-Za-z0-9_][A-Za-z0-9._-]*$/);

/** Each problem is the end of a sentence. */
function textsSchema(name: RegExp) {
  return z.record(z.string().max(NAME_MAX), z.string().max(BYTES_MAX)).superRefine((texts, context) => {
    const entries = Object.entries(texts);
    const bytes = entries.reduce((sum, [key, value]) => sum + Buffer.byteLength(key) + Buffer.byteLength(value), 0);
    if (entries.length > ENTRIES_MAX || bytes > BYTES_MAX) {
      return context.addIssue({ code: "custom", message: `at most ${ENTRIES_MAX} entries and ${BYTES_MAX} bytes` });
    }
    const bad = entries.find(([key, value]) => !name.test(key) || value.includes("\0"));
    if (bad) context.addIssue({ code: "custom", message: `a bad entry: ${JSON.stringify(bad[0])}` });
  });
}
