import { Buffer } from "node:buffer";

export interface ToolDefinition {
  readonly name?: string;
  readonly title?: string;
  readonly description?: string;
  readonly input?: unknown;
  readonly output?: unknown;
  readonly annotations?: Readonly<Record<string, boolean>>;
  readonly run: (args: unknown, context: unknown) => unknown;
}

const TEXTS = ["name", "title", "description"] as const;
const HINTS = new Set(["title", "readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"]);

/** What `defineTool` gives. It is told from other exports by its private field, which nothing else can have. */
export class Tool {
  readonly #definition: ToolDefinition;

  constructor(definition: ToolDefinition) {
    this.#definition = definition;
  }

  /** Nothing, for what is no tool. */
  static definitionOf(value: unknown): ToolDefinition | undefined {
    return typeof value === "object" && value !== null && #definition in value ? value.#definition : undefined;
  }
}

/** Throws a `TypeError` that names what is wrong, so that its stack has the author's line. */
export function defineTool(given: unknown): Tool {
  if (!isRecord(given)) throw new TypeError("defineTool takes an object: defineTool({ description, input, run })");
  const definition = { ...given };
  if (typeof definition["run"] !== "function") throw new TypeError("A tool needs run: a function (args, context) that gives the result");
  for (const field of TEXTS)
    if (definition[field] !== undefined && typeof definition[field] !== "string") throw new TypeError(`A tool's ${field} must be a string`);
  if (definition["annotations"] !== undefined) checkAnnotations(definition["annotations"]);
  return new Tool(definition as unknown as ToolDefinition);
}

function checkAnnotations(annotations: unknown): void {
  if (!isRecord(annotations)) throw new TypeError("A tool's annotations must be an object");
  for (const [name, value] of Object.entries(annotations)) {
    if (!HINTS.has(name)) throw new TypeError(`A tool has no annotation ${JSON.stringify(name)}; there are ${[...HINTS].join(", ")}`);
    if (typeof value !== (name === "title" ? "string" : "boolean")) throw new TypeError(`The annotation ${name} must be true or false`);
  }
}

/** A picture for a result: of bytes, or of a text in base64. */
export function image(data: unknown, mimeType = "image/png"): { readonly type: "image"; readonly data: string; readonly mimeType: string } {
  if (typeof data === "string") return { type: "image", data, mimeType };
  if (ArrayBuffer.isView(data)) return { type: "image", data: toBase64(data.buffer, data.byteOffset, data.byteLength), mimeType };
  if (data instanceof ArrayBuffer) return { type: "image", data: toBase64(data, 0, data.byteLength), mimeType };
  throw new TypeError("image takes bytes (a Uint8Array or Buffer) or a text in base64");
}

function toBase64(buffer: ArrayBufferLike, start: number, length: number): string {
  return Buffer.from(buffer, start, length).toString("base64");
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
