import * as z from "zod";
import type { Tool } from "../../catalog/tool.ts";
import { defineTool } from "../../catalog/tool.ts";
import { textResult } from "../../catalog/tool-result.ts";
import { acceptContent } from "../other-names.ts";
import { DEFAULT_SANDBOX, sandboxArgument } from "../sandbox-argument.ts";
import { pathArgument, toAbsolute } from "../sandbox-path.ts";
import type { FileChanger } from "./file-changer.ts";
import { changeFile, readForUndo, UNDO_PROBLEM, undoField, undoText } from "./file-changer.ts";

/** As JSON it must fit in one HTTP request of 4 MiB. */
const CONTENT_MAX = 3 * 1_048_576;

const Input = z
  .strictObject({
    path: pathArgument("File to write; missing folders above it are made"),
    content: z.string().max(CONTENT_MAX).describe("The whole new content"),
    encoding: z.enum(["utf-8", "latin1", "base64"]).optional().describe("How content stands for bytes; default utf-8"),
    mode: z
      .string()
      .regex(/^0?[0-7]{3}$/, 'must be three octal digits, as "755"')
      .optional()
      .describe('Permissions as octal digits in text, as "755" for a script'),
    sandbox: sandboxArgument(DEFAULT_SANDBOX),
  })
  .superRefine(({ content, encoding }, context) => {
    const problem = findProblem(content, encoding);
    if (problem) context.addIssue({ code: "custom", path: ["content"], message: problem });
  });

const Output = z.object({ path: z.string(), size: z.number().int().describe("Bytes written"), undo_problem: UNDO_PROBLEM });

export function createWriteFile(changer: FileChanger): Tool {
  return defineTool({
    name: "write_file",
    title: "Write a file",
    description: [
      "Writes a whole file in your sandbox, replacing what was there; readers see the old file or the new one, never half of it.",
      "Missing folders above it are made. Use encoding base64 for binary content, and mode to make a script executable.",
      "To change a part of a file, edit_file is shorter and safer. undo_edit takes the change back.",
    ].join("\n"),
    toolset: "files",
    annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: true, openWorldHint: false },
    accept: acceptContent,
    input: Input,
    value: Output,
    async run({ signal, ...context }, { path, content, encoding = "utf-8", mode, sandbox: id }) {
      const sandbox = await context.sandbox(id);
      const after = Buffer.from(content, encoding);
      const target = toAbsolute(sandbox, path);
      const change = await changer.alone(sandbox, signal, async () => {
        const before = await readForUndo(sandbox.guest.files, target, signal);
        return changeFile(sandbox, { path: target, before, after, ...(mode !== undefined && { mode: Number.parseInt(mode, 8) }) }, signal);
      });
      const text = `Wrote ${after.length} bytes to ${target}${undoText(change)}`;
      return textResult({ path: target, size: after.length, ...undoField(change) }, text);
    },
  });
}

function findProblem(content: string, encoding: string | undefined): string | undefined {
  if (encoding === "base64" && !isBase64(content)) return "is not base64: letters, digits, + and /, padded with =, without line breaks";
  // oxlint-disable-next-line no-control-regex
  if (encoding === "latin1" && /[^\u0000-\u00ff]/.test(content)) return "holds characters that latin1 does not have; use utf-8";
  return undefined;
}

/** `Buffer` drops what it does not know, so a wrong text would be written as something else. */
function isBase64(text: string): boolean {
  const padding = text.endsWith("==") ? 2 : text.endsWith("=") ? 1 : 0;
  return text.length % 4 === 0 && !/[^A-Za-z0-9+/]/.test(text.slice(0, text.length - padding));
}
