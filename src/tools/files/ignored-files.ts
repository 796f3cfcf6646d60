import type { Sandbox } from "../../sandbox/sandbox.ts";
import { BelljarError } from "../../errors.ts";
import { openInnerProgram } from "../inner-program.ts";
import { readRecords } from "../search/records.ts";

const TIMEOUT_MS = 5_000;
const PATHS_MAX = 10_000;
const PATH_MAX_BYTES = 8_192;
const ARGS = ["-c", "core.fsmonitor=false", "ls-files", "-z", "--others", "--ignored", "--exclude-standard", "--directory"];

interface Folder {
  readonly path: string;
  readonly signal: AbortSignal;
}

/** Whether a path below the folder is `.git`, or ignored as git has it; without git or outside a repository nothing is ignored. */
export async function findIgnored(sandbox: Sandbox, folder: Folder): Promise<(path: string) => boolean> {
  const ignored = await listIgnored(sandbox, folder);
  return (path) => {
    const names = path.split("/");
    return names.some((name, depth) => name === ".git" || ignored.has(names.slice(0, depth + 1).join("/")));
  };
}

async function listIgnored(sandbox: Sandbox, { path, signal }: Folder): Promise<ReadonlySet<string>> {
  const ignored = new Set<string>();
  try {
    await using program = await openInnerProgram(sandbox, { programs: ["git"], args: ARGS, cwd: path, timeoutMs: TIMEOUT_MS, signal });
    if (!program) return ignored;
    for await (const record of readRecords(program.stdout, { separator: 0, maxBytes: PATH_MAX_BYTES })) {
      if (record) ignored.add(record.toString("utf8").replace(/\/$/, ""));
      if (ignored.size >= PATHS_MAX) break;
    }
  } catch (error) {
    // What is wrong with the folder, its list says.
    if (!(error instanceof BelljarError)) throw error;
  }
  return ignored;
}
