import { isDeepStrictEqual } from "node:util";
import { applyEdits, findNodeAtLocation, getNodeValue, modify, parseTree } from "jsonc-parser";
import type { ParseError } from "jsonc-parser";
import { BelljarError } from "../../errors.ts";
import type { Placement } from "./placement.ts";

const FORMAT = { formattingOptions: { insertSpaces: true, tabSize: 2, insertFinalNewline: true } };

/** Sets one value in a JSON text, as editors do: comments and everything else stay as they are. */
export function placeInJson(text: string, path: string[], value: Readonly<Record<string, unknown>>): Placement {
  const source = text.trim() === "" ? "{}\n" : text;
  const errors: ParseError[] = [];
  const root = parseTree(source, errors, { allowTrailingComma: true });
  if (errors.length > 0 || root?.type !== "object") throw new BelljarError("CONFIG_INVALID", "it holds no JSON object");
  const present = findNodeAtLocation(root, path);
  if (present && isDeepStrictEqual(structuredClone(getNodeValue(present)), value)) return { text: undefined };
  return { text: applyEdits(source, modify(source, path, value, FORMAT)) };
}
