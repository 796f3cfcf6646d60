import * as z from "zod";
import type { RowBounds } from "../shown-rows.ts";
import { BROKEN_MAX, readRecords } from "./records.ts";

const PATH_MAX_BYTES = 16_384;
const NUL = 0;

export const FileCount = z.object({ path: z.string(), count: z.number().int().describe("Lines that match") });

export type FileCount = z.output<typeof FileCount>;

export interface CountLimits {
  readonly bounds: RowBounds;
  readonly toPath: (printed: string) => string;
}

/** Reads what `rg --count --null` prints: a path, NUL, a number and a line end (with `--crlf` of two bytes); a path may hold line ends itself. */
export async function countFiles(content: AsyncIterable<Buffer>, { bounds, toPath }: CountLimits) {
  const files: FileCount[] = [];
  let bytes = 0;
  let broken = 0;
  let path: string | undefined;
  for await (const record of readRecords(content, { separator: NUL, maxBytes: PATH_MAX_BYTES })) {
    const [, digits, next = ""] = /^(\d+)\r?\n(.*)$/s.exec(record?.toString("utf8") ?? "") ?? [];
    if (path !== undefined && digits !== undefined) {
      bytes += Buffer.byteLength(path);
      if (files.length >= bounds.rows || bytes > bounds.bytes) return { files, isFull: true };
      files.push({ path: toPath(path), count: Number(digits) });
    }
    if (path !== undefined && digits === undefined && (broken += 1) > BROKEN_MAX) return { files, isFull: true };
    path = path === undefined ? record?.toString("utf8") : next;
  }
  return { files, isFull: false };
}
