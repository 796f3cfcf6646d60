import { isRecord } from "./define-tool.ts";
import { toJsonText } from "./json-text.ts";
import { toStructured } from "./schemas.ts";

const MAX_BYTES = 8 * 1024 * 1024;

const isText = (value: unknown): boolean => typeof value === "string";
/** The fields that a block of each type must have. */
const BLOCKS: Readonly<Record<string, Readonly<Record<string, (value: unknown) => boolean>>>> = {
  text: { text: isText },
  image: { data: isText, mimeType: isText },
  audio: { data: isText, mimeType: isText },
  resource: { resource: isRecord },
  resource_link: { uri: isText, name: isText },
};

/** What a tool gave, as the JSON text of an answer's fields. Throws a `NotJson` that names the place, or an `Unfit`. */
export async function toAnswer(result: unknown, output: unknown): Promise<string> {
  if (output === undefined) return toJsonText({ content: toContent(result) }, { maxBytes: MAX_BYTES });
  const structured = await toStructured(output, result);
  return toJsonText({ content: toContent(structured), structured }, { maxBytes: MAX_BYTES });
}

function toContent(result: unknown): readonly unknown[] {
  if (result === undefined || result === null) return [];
  if (typeof result === "string") return [{ type: "text", text: result }];
  if (isBlock(result)) return [result];
  if (isBlocks(result)) return result;
  if (isRecord(result) && isBlocks(result["content"]) && Object.keys(result).length === 1) return result["content"];
  return [{ type: "text", text: toJsonText(result, { maxBytes: MAX_BYTES, indent: "  " }) }];
}

function isBlocks(value: unknown): value is readonly unknown[] {
  if (!Array.isArray(value) || value.length === 0) return false;
  // `every` would walk through all holes.
  for (const one of value as readonly unknown[]) if (!isBlock(one)) return false;
  return true;
}

function isBlock(value: unknown): boolean {
  if (!isRecord(value)) return false;
  const fields = typeof value["type"] === "string" && Object.hasOwn(BLOCKS, value["type"]) ? BLOCKS[value["type"]] : undefined;
  return fields !== undefined && Object.entries(fields).every(([name, fits]) => fits(value[name]));
}
