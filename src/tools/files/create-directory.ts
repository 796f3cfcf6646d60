import * as z from "zod";
import { defineTool } from "../../catalog/tool.ts";
import { textResult } from "../../catalog/tool-result.ts";
import { BelljarError } from "../../errors.ts";
import type { GuestFiles } from "../../sandbox/sandbox.ts";
import { acceptFolder } from "../other-names.ts";
import { DEFAULT_SANDBOX, sandboxArgument } from "../sandbox-argument.ts";
import { pathArgument, toAbsolute } from "../sandbox-path.ts";

const Input = z.strictObject({
  path: pathArgument("Folder to make; missing folders above it are made too"),
  sandbox: sandboxArgument(DEFAULT_SANDBOX),
});

const Output = z.object({ path: z.string(), created: z.boolean().describe("False: it was there already") });

export const createDirectory = defineTool({
  name: "create_directory",
  title: "Make a folder",
  description: "Makes a folder in your sandbox, and the folders above it that are missing. One that is there already is left as it is.",
  toolset: "files",
  annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: true, openWorldHint: false },
  accept: acceptFolder,
  input: Input,
  value: Output,
  async run({ signal, ...context }, { path, sandbox: id }) {
    const sandbox = await context.sandbox(id);
    const { files } = sandbox.guest;
    const target = toAbsolute(sandbox, path);
    const created = !(await isDirectory(files, target, signal));
    if (created) await files.makeDirectory(target, { parents: true, signal });
    const text = created ? `Made the folder ${target}` : `The folder ${target} was there already`;
    return textResult({ path: target, created }, text);
  },
});

async function isDirectory(files: GuestFiles, path: string, signal: AbortSignal): Promise<boolean> {
  try {
    return (await files.stat(path, { signal, follow: true })).type === "directory";
  } catch (error) {
    if (error instanceof BelljarError && error.code === "FILE_NOT_FOUND") return false;
    throw error;
  }
}
