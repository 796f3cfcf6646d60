import * as z from "zod";
import { defineDataTool } from "../../catalog/tool.ts";
import { dataResult } from "../../catalog/tool-result.ts";
import type { FileInfo } from "../../sandbox/sandbox.ts";
import { acceptPath } from "../other-names.ts";
import { DEFAULT_SANDBOX, sandboxArgument } from "../sandbox-argument.ts";
import { pathArgument, toAbsolute } from "../sandbox-path.ts";
import { showMode, toIsoTime } from "./file-row.ts";

const Input = z.strictObject({
  path: pathArgument("File, folder or link to describe"),
  sandbox: sandboxArgument(DEFAULT_SANDBOX),
});

const Output = z.object({
  path: z.string(),
  type: z.enum(["file", "directory", "link", "other"]),
  size: z.number().int(),
  mode: z.string().describe("Permissions as octal digits"),
  owner: z.string(),
  group: z.string(),
  modified_at: z.string(),
  links: z.number().int().describe("Names that the file has"),
  target: z.string().optional().describe("Text of a link"),
  resolved: z.string().optional().describe("Where a link ends; absent when it leads nowhere"),
});

export const fileInfo = defineDataTool({
  name: "file_info",
  title: "Describe a file",
  description:
    "Answers the type, size, permissions, owner and time of change of one path in your sandbox. A link describes itself and says where it ends.",
  toolset: "files",
  annotations: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
  accept: acceptPath,
  input: Input,
  output: Output,
  async run({ signal, ...context }, { path, sandbox: id }) {
    const sandbox = await context.sandbox(id);
    return dataResult(toFacts(toAbsolute(sandbox, path), await sandbox.guest.files.stat(path, { signal })));
  },
});

function toFacts(path: string, info: FileInfo): z.output<typeof Output> {
  const { type, size, owner, group, links, target, resolved } = info;
  return {
    path,
    type,
    size,
    mode: showMode(info.mode),
    owner,
    group,
    modified_at: toIsoTime(info.mtimeNs),
    links,
    ...(target !== undefined && { target }),
    ...(resolved !== undefined && { resolved }),
  };
}
