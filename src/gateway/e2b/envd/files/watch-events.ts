import { posix } from "node:path";
import * as z from "zod";
import { BelljarError } from "../../../../errors.ts";
import type { FileCall, FileChange, GuestFiles } from "../../../../runtime/guest/guest.ts";
import { entrySchema, toEntryInfo } from "./entry-info.ts";
import { wordFileErrors } from "./file-errors.ts";
import { ATTRIBUTE_PREFIX } from "./file-metadata.ts";

export const watchEventSchema = z.object({
  name: z.string().describe("Below the watched folder"),
  type: z.enum(["EVENT_TYPE_CREATE", "EVENT_TYPE_WRITE", "EVENT_TYPE_REMOVE", "EVENT_TYPE_RENAME", "EVENT_TYPE_CHMOD"]),
  entry: entrySchema.optional(),
});
export type WatchEvent = z.output<typeof watchEventSchema>;
type Told = Pick<WatchEvent, "name" | "type">;

export interface FolderWatch {
  /** Absolute. */
  readonly path: string;
  readonly recursive: boolean;
  /** Of files and folders that are there still. */
  readonly includeEntry: boolean;
}

/**
 * Resolves once the guest watches: no later change is missed. Rejects with `FILE_NOT_FOUND`, and with `ARGUMENTS_INVALID` for what is no folder. The events
 * end with the signal, and fail where changes were lost.
 */
export async function watchFolder(
  files: GuestFiles,
  { path, recursive, includeEntry }: FolderWatch,
  call: FileCall,
): Promise<AsyncIterable<WatchEvent>> {
  const { type } = await wordFileErrors(path, () => files.stat(path, { ...call, follow: true }));
  if (type !== "directory") throw new BelljarError("ARGUMENTS_INVALID", `path ${path} not a directory`);
  const changes = await wordFileErrors(path, () => files.watch(path, { ...call, recursive }));
  const entryOf = (name: string): Promise<Pick<WatchEvent, "entry">> => findEntry(files, posix.join(path, name), call);
  return tell(changes, includeEntry ? entryOf : async () => ({}));
}

async function* tell(
  changes: AsyncIterable<FileChange>,
  entryOf: (name: string) => Promise<Pick<WatchEvent, "entry">>,
): AsyncGenerator<WatchEvent> {
  for await (const change of changes) {
    for (const event of toEvents(change)) yield HAS_ENTRY.has(event.type) ? { ...event, ...(await entryOf(event.name)) } : event;
  }
}

const HAS_ENTRY: ReadonlySet<WatchEvent["type"]> = new Set(["EVENT_TYPE_CREATE", "EVENT_TYPE_WRITE", "EVENT_TYPE_CHMOD"]);

/** It may be gone again, or be nothing that this user may see. */
async function findEntry(files: GuestFiles, path: string, call: FileCall): Promise<Pick<WatchEvent, "entry">> {
  try {
    return { entry: toEntryInfo(await files.stat(path, { ...call, attributes: ATTRIBUTE_PREFIX }), path) };
  } catch (error) {
    if (error instanceof BelljarError && ABSENT.has(error.code)) return {};
    throw error;
  }
}

const ABSENT: ReadonlySet<BelljarError["code"]> = new Set(["FILE_NOT_FOUND", "FILE_NOT_DIRECTORY", "FILE_DENIED"]);

/** The guest writes a file beside the old one first, and renames it then. */
const UNFINISHED = /^\.belljar-\d+-\d+\.tmp$/;

/** What E2B tells of a change. Throws `FILE_IO` where changes were lost. */
export function toEvents({ kind, path, target }: FileChange): readonly Told[] {
  if (kind === "overflow")
    throw new BelljarError("FILE_IO", "More has changed at once than could be told: watch again, and list the folder");
  const name = path === "" ? "." : path;
  const isUnfinished = UNFINISHED.test(posix.basename(name));
  if (kind !== "rename") return isUnfinished ? [] : [{ name, type: TYPES[kind] }];
  const arrival = target === undefined ? [] : [{ name: target, type: "EVENT_TYPE_CREATE" } as const];
  if (!isUnfinished) return [{ name, type: "EVENT_TYPE_RENAME" }, ...arrival];
  return [...arrival, ...arrival.map((one) => ({ ...one, type: "EVENT_TYPE_WRITE" }) as const)];
}

const TYPES = {
  create: "EVENT_TYPE_CREATE",
  write: "EVENT_TYPE_WRITE",
  remove: "EVENT_TYPE_REMOVE",
  attributes: "EVENT_TYPE_CHMOD",
} as const;
