import * as z from "zod";
import { defineAction } from "./action.ts";
import { TITLE_MAX, URL_MAX } from "./change-limits.ts";
import { ELEMENT_FIELDS } from "./fields.ts";
import { SNAPSHOT_DEFAULT_BYTES } from "./snapshot-limits.ts";

const SNAPSHOT_MAX_BYTES = 262_144;
const OFFSET_MAX = 100_000_000;

export const SNAPSHOT_FIELDS = {
  ...ELEMENT_FIELDS,
  offset: z.number().int().min(0).max(OFFSET_MAX).optional().describe("Where the last line of another one says to go on"),
  max_bytes: z.number().int().min(500).max(SNAPSHOT_MAX_BYTES).optional().describe(`Default ${SNAPSHOT_DEFAULT_BYTES}`),
};

const Args = z.object(SNAPSHOT_FIELDS);
export type SnapshotArgs = z.infer<typeof Args>;

const Value = z.object({
  url: z.string().max(URL_MAX),
  title: z.string().max(TITLE_MAX),
  text: z.string().max(SNAPSHOT_MAX_BYTES + 8_192),
});
export type SnapshotValue = z.infer<typeof Value>;

export const SNAPSHOT = defineAction({ name: "snapshot", args: Args, value: Value });
