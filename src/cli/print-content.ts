import type { Writable } from "node:stream";
import { formatBytes, printLine } from "./print.ts";

/** Prints one part of a tool's answer: a text as it is, of anything else what it is. */
export function printContent(out: Writable, part: { readonly type: string }): void {
  printLine(out, describe(part));
}

function describe(part: { readonly type: string; readonly [field: string]: unknown }): string {
  const { type, text, data, uri, mimeType, resource } = part;
  if (type === "text" && typeof text === "string") return text.replace(/\n$/, "");
  if (type === "resource" && isPart(resource)) return describe({ ...resource, type: typeof resource.text === "string" ? "text" : type });
  const facts = [mimeType, uri, typeof data === "string" && formatBytes(Buffer.byteLength(data, "base64"))];
  return `[${[type, ...facts].filter((fact) => typeof fact === "string").join(" ")}]`;
}

function isPart(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null;
}
