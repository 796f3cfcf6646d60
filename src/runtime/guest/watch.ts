import { FLAG, FRAME, OPERATION } from "../../protocol/wire.ts";
import { Rows } from "./call.ts";
import { fileChange } from "./file-info.ts";
import type { FileCall, FileChange, GuestPath } from "./guest.ts";
import type { Link } from "./link.ts";

/** Resolves once the guest watches. Changes that are not taken wait in the guest, which reports `overflow` if there are too many. */
export async function watchFiles(
  link: Link,
  path: GuestPath,
  options: FileCall & { readonly recursive?: boolean },
): Promise<AsyncIterable<FileChange>> {
  const fields = [
    ["PATH", path],
    ["USER", options.user],
    ["FLAGS", options.recursive ? FLAG.RECURSIVE : undefined],
  ] as const;
  let isWatching: (() => void) | undefined;
  let isRefused: ((error: Error) => void) | undefined;
  const watching = new Promise<void>((resolve, reject) => {
    isWatching = resolve;
    isRefused = reject;
  });
  const events = {
    row: FRAME.EVENT,
    signal: options.signal,
    onReply: () => isWatching?.(),
    onFailed: (error: Error) => isRefused?.(error),
  } as const;
  const rows = await Rows.open(link, OPERATION.WATCH, fields, events);
  await watching;
  return changes(rows, options.signal);
}

async function* changes(rows: Rows, signal: AbortSignal): AsyncGenerator<FileChange, void, undefined> {
  try {
    for await (const row of rows) yield fileChange(row);
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}
