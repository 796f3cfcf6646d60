import { statSync } from "node:fs";
import { errnoOf } from "../../files/file-error.ts";

/** What is at this path; undefined for nothing. What this user may not look for counts as there. No text is too odd to ask for. */
export function lookOnHost(path: string): "folder" | "file" | undefined {
  try {
    const found = statSync(path, { throwIfNoEntry: false });
    return found && (found.isDirectory() ? "folder" : "file");
  } catch (cause) {
    return errnoOf(cause) === "EACCES" ? "file" : undefined;
  }
}
