import { constants } from "node:fs";
import { open } from "node:fs/promises";
import * as z from "zod";
import { BelljarError } from "../../errors.ts";
import { fileError } from "../../files/file-error.ts";
import { parseJson } from "../../files/parse-json.ts";
import { hasManyTokens } from "../../files/json-tokens.ts";
import { codeSchema } from "../store/stored-unit.ts";
import type { FolderUnit } from "../store/units-in-folder.ts";
import type { FoundUnit } from "./found-unit.ts";

export const MCP_BOX_FILE = "mcp-tool.json";
const FILE_BYTES_MAX = 32 * 1_048_576;
const ROWS_MAX = 2_000;
/** The most characters that a unit's name has. */
const NAME_MAX = 100;

/** Other fields of a row, such as whose it was, are not looked at. */
const rowSchema = z.object({ mcp_tool_name: z.string().min(1), mcp_tool_code: z.string() });
const fileSchema = z.array(z.unknown()).max(ROWS_MAX);

/**
 * The units of MCP Box's `mcp-tool.json`: a list of `{"mcp_tool_name", "mcp_tool_code"}`, all of them Python. A row that is none is a unit
 * that cannot be read. Rejects with `ARGUMENTS_INVALID` for a file of another form, and with `FILE_IO`.
 */
export async function readMcpBoxFile(path: string): Promise<readonly FoundUnit[]> {
  const bytes = await readFile(path);
  const parsed = hasManyTokens(bytes) ? undefined : fileSchema.safeParse(parseJson(toText(path, bytes)));
  if (!parsed?.success) throw otherForm(path, `has no JSON list of at most ${ROWS_MAX} tools`);
  const seen = new Set<string>();
  return parsed.data.map((row, index) => toUnit(row, index, seen));
}

function toUnit(row: unknown, index: number, seen: Set<string>): FoundUnit {
  const place = `row ${index + 1}`;
  const parsed = rowSchema.safeParse(row);
  if (!parsed.success) return { name: place, found: invalid(place, "needs the texts mcp_tool_name and mcp_tool_code") };
  const { mcp_tool_name: name, mcp_tool_code: code } = parsed.data;
  if (name.length > NAME_MAX) return { name: name.slice(0, NAME_MAX), found: invalid(place, `its name has over ${NAME_MAX} characters`) };
  if (seen.has(name)) return { name, found: invalid(place, "an earlier row has the same name") };
  seen.add(name);
  const checked = codeSchema.safeParse(code);
  if (!checked.success) return { name, found: invalid(place, checked.error.issues[0]?.message ?? "cannot be read") };
  return { name, found: { kind: "changed", spec: { language: "python", code } } };
}

/** A byte order mark is no part of the text. */
function toText(path: string, bytes: Uint8Array): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch (cause) {
    throw otherForm(path, "is no text in UTF-8", cause);
  }
}

function invalid(file: string, message: string): FolderUnit {
  return { kind: "invalid", problem: { file, message } };
}

/** O_NONBLOCK: opening a FIFO must not wait for its writer. */
async function readFile(path: string): Promise<Buffer> {
  try {
    await using file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
    const found = await file.stat();
    if (!found.isFile()) throw otherForm(path, "is no file");
    if (found.size > FILE_BYTES_MAX) throw otherForm(path, `has over ${FILE_BYTES_MAX} bytes`);
    const { buffer, bytesRead } = await file.read(Buffer.alloc(found.size), 0, found.size, 0);
    return buffer.subarray(0, bytesRead);
  } catch (cause) {
    throw fileError(path, cause);
  }
}

function otherForm(path: string, why: string, cause?: unknown): BelljarError {
  return new BelljarError("ARGUMENTS_INVALID", `${path} ${why}: name a folder of tools, or MCP Box's ${MCP_BOX_FILE}`, { cause });
}
