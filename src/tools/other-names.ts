import type { Accept } from "../catalog/accept.ts";
import { otherNames } from "../catalog/accept.ts";

/** What hosts' own tools call these arguments, so that models write them from habit. */
const PATH_NAMES = { file_path: "path", filepath: "path", filename: "path", file: "path", absolute_path: "path", target_file: "path" };
const FOLDER_NAMES = { directory: "path", dir: "path", dir_path: "path", folder: "path", ...PATH_NAMES };
const EDIT_NAMES = otherNames({
  old_str: "old_string",
  new_str: "new_string",
  old_text: "old_string",
  new_text: "new_string",
  ...PATH_NAMES,
});
/** `timeout` is not one of them: some tools count it in seconds, others in milliseconds. */
const COMMAND_NAMES = { cmd: "command", script: "command", workdir: "cwd", working_directory: "cwd", dir: "cwd" };

export const acceptPath = otherNames(PATH_NAMES);
export const acceptFolder = otherNames(FOLDER_NAMES);
export const acceptContent = otherNames({ contents: "content", text: "content", file_text: "content", ...PATH_NAMES });
export const acceptMove = otherNames({ from: "source", to: "destination", old_path: "source", new_path: "destination" });
export const acceptCommand = otherNames(COMMAND_NAMES);
export const acceptPattern = otherNames({
  query: "pattern",
  regex: "pattern",
  glob: "include",
  case_insensitive: "ignore_case",
  ...FOLDER_NAMES,
});
export const acceptFilePattern = otherNames({
  query: "pattern",
  glob: "pattern",
  glob_pattern: "pattern",
  name: "pattern",
  ...FOLDER_NAMES,
});
export const acceptProcess = otherNames({ id: "process_id", input: "text" });

/** In a tool of the sandbox's own the id is `id`; in all others the argument is called `sandbox`. */
const SANDBOX_NAMES = { sandbox: "id", sandbox_id: "id" };
export const acceptSandbox = otherNames(SANDBOX_NAMES);
export const acceptCheckpoint = otherNames({ ...SANDBOX_NAMES, checkpoint: "checkpoint_id", point: "checkpoint_id", to: "checkpoint_id" });
export const acceptPoints = otherNames({ ...SANDBOX_NAMES, from_id: "from", checkpoint_id: "from", to_id: "to" });
export const acceptSnapshot = otherNames({ ...SANDBOX_NAMES, snapshot: "snapshot_id" });
export const acceptMerge = otherNames({ ...SANDBOX_NAMES, from: "from_id", fork_id: "from_id" });

/** One edit may stand flat beside the path. A missing `new_string` stays missing: the schema refuses it, where "" would delete the text. */
export const acceptEdit: Accept = (args) => {
  const { old_string: before, new_string: after, replace_all: all, ...rest } = EDIT_NAMES(args);
  if (before === undefined || rest["edits"] !== undefined) return acceptPath(args);
  return { ...rest, edits: [{ old_string: before, new_string: after, ...(all !== undefined && { replace_all: all }) }] };
};

/** Lines may be counted from `offset`. */
export const acceptLines: Accept = (args) => {
  const { offset, limit, ...rest } = acceptPath(args);
  const start = toCount(offset) ?? toCount(rest["start_line"]);
  const count = toCount(limit);
  return {
    ...rest,
    ...(offset !== undefined && { start_line: start ?? offset }),
    ...(limit !== undefined && { end_line: count === undefined ? limit : (start ?? 1) + count - 1 }),
  };
};

function toCount(value: unknown): number | undefined {
  const count = typeof value === "string" && value !== "" ? Number(value) : value;
  return typeof count === "number" && Number.isInteger(count) ? Math.max(1, count) : undefined;
}
