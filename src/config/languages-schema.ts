import * as z from "zod";
import { table } from "./config-fields.ts";

function languageSchema() {
  return z.strictObject({
    template: z
      .string()
      .min(1)
      .max(128)
      .optional()
      .describe("What a fresh sandbox for its programs starts from: a template of the local user"),
    command: z
      .array(
        z
          .string()
          .min(1)
          .max(4096)
          .refine((text) => !text.includes("\0"), "must not hold a NUL byte"),
      )
      .min(1)
      .max(100)
      .optional()
      .describe("Program that runs the main file, with its first arguments"),
    extension: z
      .string()
      .regex(/^\.[a-z0-9_+-]{1,20}$/, "must be a dot and up to 20 of a-z, 0-9, _, + and -")
      .optional()
      .describe("Of its files, for a language that Belljar does not know"),
  });
}

/** Languages of one-shot programs. The interpreter room knows which need what. */
export function languagesSchema() {
  return table(z.string().regex(/^[a-z0-9][a-z0-9_+#.-]{0,39}$/), languageSchema())
    .refine((languages) => Object.keys(languages).length <= 50, "must be at most 50")
    .default({})
    .describe(
      'Languages of `execute_code` and `run`, by name: the template in which one runs ({"python": {"template": "python-3.11"}}), and others, with the program that runs a file and its extension ({"lua": {"template": "lua", "command": ["lua"], "extension": ".lua"}})',
    );
}
