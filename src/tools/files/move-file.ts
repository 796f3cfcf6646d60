import { posix } from "node:path";
import * as z from "zod";
import { defineTool } from "../../catalog/tool.ts";
import { BelljarError } from "../../errors.ts";
import { DEFAULT_SANDBOX, sandboxArgument } from "../sandbox-argument.ts";
import { pathArgument, toAbsolute } from "../sandbox-path.ts";

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
  input: Input,
  output: Output,
  async run({ signal, ...context }, args) {
    const sandbox = await context.sandbox(args.sandbox);
    const { files } = sandbox.guest;
    const [source, destination] = [toAbsolute(args.source), toAbsolute(args.destination)];
    if (`${destination}/`.startsWith(`${source}/`)) {
      throw new BelljarError(
        "PATH_INVALID",
        `"${args.destination}" is "${args.source}" itself or lies inside it; name another destination`,
      );
    }
    await files.stat(source, { signal });
    await files.makeDirectory(posix.dirname(destination), { parents: true, signal });
    await files.rename(source, destination, { signal, replace: args.overwrite === true });
    return {
      content: [{ type: "text", text: `Moved ${source} to ${destination}` }],
      structuredContent: { source, destination },
    };
  },
});
