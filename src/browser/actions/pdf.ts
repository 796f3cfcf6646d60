import * as z from "zod";
import { defineAction } from "./action.ts";
import { PDF_MAX_BYTES } from "./pdf-limits.ts";

const PATH_MAX = 4_096;

export const PDF_FIELDS = {
  path: z.string().min(1).max(PATH_MAX).describe("File in the sandbox"),
  landscape: z.boolean().optional(),
};

const Args = z.object(PDF_FIELDS);
export type PdfArgs = z.infer<typeof Args>;

const Value = z.object({ path: z.string().max(PATH_MAX), bytes: z.number().int().min(0).max(PDF_MAX_BYTES) });
export type PdfValue = z.infer<typeof Value>;

/** Writes the page as a PDF, by the sandbox's user. */
export const PDF = defineAction({ name: "pdf", args: Args, value: Value });
