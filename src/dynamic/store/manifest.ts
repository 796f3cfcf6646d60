import { isDeepStrictEqual } from "node:util";
import type * as z from "zod";
import { parseJson } from "../../files/parse-json.ts";
import type { ToolLanguage, UnitSpec } from "../unit.ts";
import { locateJson } from "./json-places.ts";
import { codeSchema, manifestSchema } from "./stored-unit.ts";
import type { EditProblem, UnitEdit } from "./unit-store.ts";

export const MANIFEST = "tool.json";

/** By the end of the name of a file with code. */
export const LANGUAGE_OF_END: ReadonlyMap<string, ToolLanguage> = new Map([
  ["py", "python"],
  ["js", "javascript"],
  ["ts", "typescript"],
  ["sh", "shell"],
]);

const END_OF_LANGUAGE = new Map([...LANGUAGE_OF_END].map(([end, language]) => [language, end]));
const MESSAGE_CHARACTERS_MAX = 500;

/** The files of a unit, by name. */
export type UnitTexts = ReadonlyMap<string, string>;

/** The file that has the code. */
export function codeFileOf({ language }: Pick<UnitSpec, "language">): string {
  return `tool.${END_OF_LANGUAGE.get(language)}`;
}

/** The files that stand for the spec: code and manifest. */
export function toTexts(spec: UnitSpec): UnitTexts {
  const { language, code, ...manifest } = spec;
  return new Map([
    [codeFileOf({ language }), code],
    // The schema gives its own order, whatever the order of the spec is.
    [MANIFEST, `${JSON.stringify(manifestSchema.parse(manifest), undefined, 2)}\n`],
  ]);
}

/** The spec that the files stand for. Without a manifest it is the code alone. */
export function toEdit(texts: UnitTexts): UnitEdit {
  const [file, ...others] = [...texts.keys()].filter((name) => name !== MANIFEST);
  if (file === undefined) return invalid(MANIFEST, "there is no tool.py, tool.js, tool.ts or tool.sh beside it");
  if (others.length > 0) return invalid(others[0] ?? "", `${file} is there too: keep one of them`);
  const code = codeSchema.safeParse(texts.get(file));
  if (!code.success) return invalid(file, code.error.issues[0]?.message ?? "cannot be read");
  const language = LANGUAGE_OF_END.get(file.slice(file.lastIndexOf(".") + 1)) ?? "python";
  const manifest = parseManifest(texts.get(MANIFEST) ?? "{}");
  if ("message" in manifest) return { kind: "invalid", problem: manifest };
  return { kind: "changed", spec: { language, code: code.data, ...manifest } };
}

/** Whether both say the same. A field that is undefined is as one that is absent. */
export function isSameSpec(one: UnitSpec, other: UnitSpec): boolean {
  return isDeepStrictEqual(JSON.parse(JSON.stringify(one)), JSON.parse(JSON.stringify(other)));
}

function parseManifest(text: string): z.output<typeof manifestSchema> | EditProblem {
  const places = locateJson(text);
  if (places.faultLine !== undefined) return { file: MANIFEST, line: places.faultLine, message: "is not JSON, or has too many levels" };
  const parsed = manifestSchema.safeParse(parseJson(text));
  if (parsed.success) return parsed.data;
  const { path, message, keys } = firstIssue(parsed.error);
  const place = [...path, ...keys.slice(0, 1)];
  const said = `${path.length > 0 ? `${path.map(String).join(".")}: ` : ""}${message}`.slice(0, MESSAGE_CHARACTERS_MAX);
  return { file: MANIFEST, line: places.lineOf(place), message: said };
}

function firstIssue({ issues: [issue] }: z.ZodError): Pick<z.core.$ZodIssue, "path" | "message"> & { readonly keys: readonly string[] } {
  const keys = issue?.code === "unrecognized_keys" ? issue.keys : [];
  return { path: issue?.path ?? [], message: issue?.message ?? "cannot be understood", keys };
}

function invalid(file: string, message: string): UnitEdit {
  return { kind: "invalid", problem: { file, message } };
}
