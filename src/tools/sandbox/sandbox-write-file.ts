import * as z from "zod";
import { defineDataTool } from "../../catalog/tool.ts";
import { dataResult } from "../../catalog/tool-result.ts";
import { pathArgument } from "../sandbox-path.ts";
import { idArgument } from "./sandbox-results.ts";

/** With the rest of the call it must fit in one HTTP request of 4 MiB. */
const CONTENT_MAX = 4_000_000;

const Input = z.strictObject({
  id: idArgument(),
  path: pathArgument("File to write; missing folders above it are made"),
  content_base64: z.base64().max(CONTENT_MAX).describe("The whole new content, as base64"),
  mode: z
    .string()
    .regex(/^0?[0-7]{3}$/, 'must be three octal digits, as "755"')
    .optional()
    .describe('Permissions as octal digits in text, as "755" for a script'),
});

export const sandboxWriteFile = defineDataTool({
  name: "sandbox_write_file",
  title: "Write a file of a sandbox",
  description:
    "Writes a whole file from base64 in the sandbox that `id` names, replacing what was there. For text, and in your default sandbox, use write_file.",
  toolset: "sandbox",
  annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: true, openWorldHint: false },
  input: Input,
  output: z.object({ ok: z.literal(true) }),
  async run(context, { id, path, content_base64: content, mode }) {
    const sandbox = await context.sandbox(id);
    await sandbox.guest.files.write(path, Buffer.from(content, "base64"), {
      signal: context.signal,
      ...(mode !== undefined && { mode: Number.parseInt(mode, 8) }),
    });
    return dataResult({ ok: true });
  },
});
