import { findNodeAtLocation, type Node, type ParseError, parseTree, getNodeValue } from "jsonc-parser";
import { z } from "zod";

const FENCE = "# ---";
const MAX_CHARACTERS = 64 * 1024;
const MAX_DEPTH = 100;
const MESSAGE_CHARACTERS = 1000;

const jsonSchema = z.record(z.string(), z.unknown());
const parameter = z.looseObject({ description: z.string().optional(), optional: z.boolean().optional() });
const hint = z.boolean().optional();

const frontMatter = z.strictObject({
  name: z.string().min(1).max(128).optional(),
  title: z.string().optional(),
  description: z.string().optional(),
  input: jsonSchema.optional(),
  parameters: z.record(z.string(), parameter).optional(),
  output: jsonSchema.optional(),
  annotations: z.strictObject({ readOnlyHint: hint, destructiveHint: hint, idempotentHint: hint, openWorldHint: hint }).optional(),
});

export type FrontMatter = z.infer<typeof frontMatter>;

/** Why a script is no tool. `line` is the script's own, from 1. */
export interface ShellRefusal {
  readonly kind: "refused";
  readonly line: number | null;
  readonly message: string;
}

export type ParsedFrontMatter = ShellRefusal | (Required<Pick<Found, "lineOf">> & { readonly kind: "parsed"; readonly value: FrontMatter });

interface Found {
  /** The line of a field, from 1. */
  readonly lineOf: (path: readonly PropertyKey[]) => number;
}

/**
 * The head of a script: after an optional `#!` line, comment lines between two lines `# ---`, which are a JSON object
 * when their `#` is taken away. It is data: nothing of the script is run to read it.
 */
export function parseFrontMatter(code: string): ParsedFrontMatter {
  const lines = code

    .split("\n")
    .map((line) => line.trimEnd());
  const start = lines[0]?.startsWith("#!") ? 1 : 0;
  if (lines[start] !== FENCE)
    return refuse(start + 1, `Line ${start + 1} must be "${FENCE}": the front matter is JSON in comments between two such lines`);
  const end = lines.indexOf(FENCE, start + 1);
  const inner = lines.slice(start + 1, end === -1 ? undefined : end);
  const stray = inner.findIndex((line) => !line.startsWith("#"));
  if (stray !== -1) return refuse(start + 2 + stray, `The front matter has a line that is no comment before its closing "${FENCE}"`);
  if (end === -1) return refuse(start + 1, `The front matter has no closing "${FENCE}"`);
  return parseJson(inner.map((line) => line.slice(1)).join("\n"), start + 2);
}

function parseJson(text: string, firstLine: number): ParsedFrontMatter {
  const lineAt = (offset: number): number => firstLine + text.slice(0, offset).split("\n").length - 1;
  if (text.length > MAX_CHARACTERS) return refuse(firstLine, `The front matter has more than ${MAX_CHARACTERS} characters`);
  if (depthOf(text) > MAX_DEPTH) return refuse(firstLine, `The front matter is nested more than ${MAX_DEPTH} levels deep`);
  const errors: ParseError[] = [];
  const tree = parseTree(text, errors, { disallowComments: true });
  const [error] = errors;
  if (error || !tree) return refuse(lineAt(error?.offset ?? 0), `The front matter must be a JSON object, such as {"description": "..."}`);
  return check(tree, (path) => lineAt(nearest(tree, path).offset));
}

function check(tree: Node, lineOf: Found["lineOf"]): ParsedFrontMatter {
  const value: unknown = getNodeValue(tree);
  const parsed = frontMatter.safeParse(value);
  if (parsed.success) return { kind: "parsed", value: parsed.data, lineOf };
  const [issue] = parsed.error.issues;
  const extra = issue?.code === "unrecognized_keys" ? issue.keys.slice(0, 1) : [];
  const path = [...(issue?.path ?? []), ...extra];
  if (path[0] === "requirements") return refuse(lineOf(path), "A shell tool has no requirements; its programs are those of its template");
  const place = path.length > 0 ? ` at ${path.map(String).join(".")}` : "";
  return refuse(lineOf(path), `The front matter is wrong${place}: ${issue?.message ?? "it cannot be read"}`);
}

/** The innermost node that is there. */
function nearest(tree: Node, path: readonly PropertyKey[]): Node {
  for (let length = path.length; length > 0; length--) {
    const node = findNodeAtLocation(tree, path.slice(0, length).map(toSegment));
    if (node) return node.parent?.type === "property" ? node.parent : node;
  }
  return tree;
}

function toSegment(key: PropertyKey): string | number {
  return typeof key === "number" ? key : String(key);
}

/** At most; brackets in strings count too. */
function depthOf(text: string): number {
  let depth = 0;
  let most = 0;
  for (const character of text) {
    if (character === "[" || character === "{") most = Math.max(most, ++depth);
    else if (character === "]" || character === "}") depth--;
  }
  return most;
}

function refuse(line: number, message: string): ShellRefusal {
  return { kind: "refused", line, message: message.slice(0, MESSAGE_CHARACTERS) };
}
