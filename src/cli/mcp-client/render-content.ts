import { isRecord } from "../../mcp/client/config/is-record.ts";
import type { JsonObject } from "../../mcp/client/json-object.ts";
import { formatBytes } from "../print.ts";

/** Beyond it a text is cut for people. `--json` gives all. */
const CHARACTERS_MAX = 1_048_576;
const NAME_MAX = 500;

/** A text for a person of what a tool, a resource or a prompt holds. Whoever prints it escapes it. Nothing in it was checked. */
export function renderContents(contents: unknown): string {
  const all = Array.isArray(contents) ? contents : [contents];
  return cut(all.map(renderContent).join("\n"));
}

/** A result without content has its data. */
export function renderResult({ content, structuredContent }: JsonObject): string {
  if (Array.isArray(content) && content.length > 0) return renderContents(content);
  return structuredContent === undefined ? "" : cut(JSON.stringify(structuredContent, null, 2));
}

/** A text for a person of one part, however long it is. */
export function renderContent(value: unknown): string {
  if (!isRecord(value)) return `[${typeof value}]`;
  const { type, text, data, blob, resource, uri, name, mimeType } = value;
  if (typeof text === "string") return text;
  if (isRecord(resource)) return renderContent(resource);
  if (typeof data === "string" || typeof blob === "string") {
    const size = formatBytes(Buffer.byteLength(typeof data === "string" ? data : String(blob), "base64"));
    return said([typeof type === "string" ? type : "contents", mimeType, uri, size]);
  }
  return said([typeof type === "string" ? type : "contents", name, uri, mimeType]);
}

function said(parts: readonly unknown[]): string {
  const texts = parts.filter((part) => typeof part === "string" && part !== "") as readonly string[];
  return `[${texts.map((text) => text.slice(0, NAME_MAX)).join(" ")}]`;
}

function cut(text: string): string {
  if (text.length <= CHARACTERS_MAX) return text;
  return `${text.slice(0, CHARACTERS_MAX)}\n[${text.length - CHARACTERS_MAX} more characters: --json prints all]`;
}

/** The first of the values that is a text. An object of a server may not even become a text: its `toString` may be none. */
export function firstText(...values: readonly unknown[]): string {
  return values.find((value) => typeof value === "string") ?? "";
}
