import { randomBytes } from "node:crypto";
import { posix } from "node:path";
import * as z from "zod";
import { defineTool } from "../../catalog/tool.ts";
import { textResult } from "../../catalog/tool-result.ts";
import { BelljarError } from "../../errors.ts";
import type { GuestFiles } from "../../sandbox/sandbox.ts";
import { acceptMove } from "../other-names.ts";
import { DEFAULT_SANDBOX, sandboxArgument } from "../sandbox-argument.ts";
import { pathArgument, toAbsolute } from "../sandbox-path.ts";

const CLEAN_UP_MS = 10_000;

const Input = z.strictObject({
  source: pathArgument("File or folder to move"),
  destination: pathArgument("Its new path, with its new name; missing folders above it are made"),
  overwrite: z.boolean().optional().describe("Replace a file that is there; default false. A folder is replaced when it is empty"),
  sandbox: sandboxArgument(DEFAULT_SANDBOX),
});

const Output = z.object({ source: z.string(), destination: z.string() });

export const moveFile = defineTool({
  name: "move_file",
  title: "Move or rename a file",
  description: [
    "Moves or renames a file or a folder in your sandbox. A link itself is moved, not what it leads to.",
    "What is at the destination stays, and the call fails, unless overwrite is set. To copy use run_command with cp.",
  ].join("\n"),
  toolset: "files",
  annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: false },
  accept: acceptMove,
  input: Input,
  value: Output,
  async run({ signal, ...context }, args) {
    const sandbox = await context.sandbox(args.sandbox);
    const { files } = sandbox.guest;
    const [source, destination] = [toAbsolute(sandbox, args.source), toAbsolute(sandbox, args.destination)];
    if (`${destination}/`.startsWith(`${source}/`)) {
      throw new BelljarError(
        "PATH_INVALID",
        `"${args.destination}" is "${args.source}" itself or lies inside it; name another destination`,
      );
    }
    await files.stat(source, { signal });
    await files.makeDirectory(posix.dirname(destination), { parents: true, signal });
    await move(files, { source, destination, replace: args.overwrite === true, signal });
    return textResult({ source, destination }, `Moved ${source} to ${destination}`);
  },
});

interface Move {
  readonly source: string;
  readonly destination: string;
  readonly replace: boolean;
  readonly signal: AbortSignal;
}

/** The kernel renames within one file system; to another, as to a workspace that is a folder of the host, a copy takes the name and the original goes. */
async function move(files: GuestFiles, { source, destination, replace, signal }: Move): Promise<void> {
  try {
    await files.rename(source, destination, { signal, replace });
  } catch (error) {
    if (!(error instanceof BelljarError) || error.code !== "NOT_SUPPORTED") throw error;
    await moveByCopy(files, { source, destination, replace, signal });
  }
}

async function moveByCopy(files: GuestFiles, { source, destination, replace, signal }: Move): Promise<void> {
  const beside = posix.join(posix.dirname(destination), `.belljar-${randomBytes(8).toString("hex")}`);
  try {
    await files.copy(source, beside, { signal, recursive: true });
    await files.rename(beside, destination, { signal, replace });
  } catch (error) {
    await removeIfPresent(files, beside);
    throw error;
  }
  await files.remove(source, { signal, recursive: true });
}

/** The call's own signal may have aborted. */
async function removeIfPresent(files: GuestFiles, path: string): Promise<void> {
  try {
    await files.remove(path, { signal: AbortSignal.timeout(CLEAN_UP_MS), recursive: true });
  } catch (error) {
    if (!(error instanceof BelljarError) || error.code !== "FILE_NOT_FOUND") throw error;
  }
}
