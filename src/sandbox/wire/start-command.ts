import * as z from "zod";

const shellText = z
  .string()
  .min(1)
  .max(8_192)
  .refine((text) => !text.includes("\0"), "must not hold a NUL byte");

/** What every sandbox of a template runs from its start on. */
export const startCommandSchema = z.strictObject({
  command: shellText.describe(
    "For /bin/sh, as the template's user. It goes on in the background, and begins anew with each run of the sandbox",
  ),
  ready: shellText.optional().describe("A check for /bin/sh: the sandbox is handed over once it succeeds"),
  readyPort: z.number().int().min(1).max(65_535).optional().describe("The sandbox is handed over once something listens on this port"),
  readyTimeoutMs: z.number().int().min(1).max(600_000).optional().describe("How long to wait for both. Default 60,000"),
});

export type StartCommand = Readonly<z.output<typeof startCommandSchema>>;
