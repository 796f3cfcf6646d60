import * as z from "zod";
import { defineDataTool } from "../../catalog/tool.ts";
import { dataResult } from "../../catalog/tool-result.ts";
import { BelljarError } from "../../errors.ts";
import { pathArgument } from "../sandbox-path.ts";
import { idArgument } from "./sandbox-results.ts";

/** As base64 it must fit in the text of one result. */
const MAX_BYTES = 262_144;

export const sandboxReadFile = defineDataTool({
  name: "sandbox_read_file",
  title: "Read a file of a sandbox",
  description: [
    `Returns the bytes of a whole file, of at most ${MAX_BYTES} bytes, as base64 from the sandbox that \`id\` names.`,
    "For text, for parts of a longer file, and for your default sandbox use read_file.",
  ].join("\n"),
  toolset: "sandbox",
  annotations: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
  input: z.strictObject({ id: idArgument(), path: pathArgument("File to read") }),
  output: z.object({ content_base64: z.string(), size: z.number().int() }),
  async run(context, { id, path }) {
    const sandbox = await context.sandbox(id);
    const { size } = await sandbox.guest.files.stat(path, { signal: context.signal, follow: true });
    if (size > MAX_BYTES) {
      const advice = "read parts of it with read_file, or with sandbox_exec and dd";
      throw new BelljarError("FILE_TOO_LARGE", `"${path}" has ${size} bytes, and at most ${MAX_BYTES} come back in one piece: ${advice}`);
    }
    const content = await sandbox.guest.files.read(path, { signal: context.signal, maxBytes: MAX_BYTES });
    return dataResult({ content_base64: content.toString("base64"), size: content.length });
  },
});
