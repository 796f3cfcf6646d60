import * as z from "zod";
import { defineTool } from "../../catalog/tool.ts";
import { markOutside } from "../../catalog/outside-text.ts";
import { textResult } from "../../catalog/tool-result.ts";

const PART_MAX = 262_144;
const DEFAULT_PART = 16_384;

const Input = z.strictObject({
  uri: z
    .string()
    .max(200)
    .regex(/^belljar:\/\/results\/[0-9a-f]{32}(\?.*)?$/, "must be a belljar://results/... address that a cut result named")
    .describe("The address that the cut result named"),
  offset: z
    .number()
    .int()
    .min(0)
    .max(Number.MAX_SAFE_INTEGER)
    .optional()
    .describe("Where to start, in bytes; default where the address says"),
  limit: z.number().int().min(1).max(PART_MAX).optional().describe(`Most bytes to return; default ${DEFAULT_PART}`),
});

const Output = z.object({
  text: z.string(),
  offset: z.number().int(),
  next_offset: z.number().int().nullable().describe("Where to go on; null at the end"),
  total_bytes: z.number().int(),
});

export const readResult = defineTool({
  name: "read_result",
  title: "Read the rest of a result",
  description:
    "Returns a part of a result that was too long and was cut. The cut result says its address and where to go on. Results are kept for an hour.",
  toolset: "results",
  role: "support",
  annotations: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
  input: Input,
  value: Output,
  async run(context, { uri, offset, limit = DEFAULT_PART }) {
    const address = new URL(uri);
    const start = offset ?? (Number.parseInt(address.searchParams.get("offset") ?? "0", 10) || 0);
    const part = context.results.read(address.pathname.slice(1), { offset: start, limit });
    const end = part.offset + part.bytes;
    const next = end < part.total ? end : null;
    const note = next === null ? `[End; ${part.total} bytes in all]` : `[Go on with offset ${next}; ${part.total} bytes in all]`;
    return textResult({ text: part.text, offset: part.offset, next_offset: next, total_bytes: part.total }, [
      { type: "text", text: part.isOutside ? markOutside(part.text) : part.text },
      { type: "text", text: note },
    ]);
  },
});
