import type { ShownValue } from "../../../interpreter/lasting/kernel-run.ts";
import type { Frame } from "./frames.ts";

/** Belljar's media types, by the names that E2B's clients know. What is in none of them is told as `extra`. */
const NAMES: ReadonlyMap<string, string> = new Map([
  ["text/plain", "text"],
  ["text/html", "html"],
  ["text/markdown", "markdown"],
  ["image/svg+xml", "svg"],
  ["image/png", "png"],
  ["image/jpeg", "jpeg"],
  ["application/pdf", "pdf"],
  ["text/latex", "latex"],
  ["application/json", "json"],
  ["application/javascript", "javascript"],
  ["e2b/data", "data"],
  ["e2b/chart", "chart"],
]);
/** Belljar's own forms, for models. */
const OWN = "application/vnd.belljar.";

/** A value as E2B's clients know it. The value of the last expression is the main result. */
export function valueFrame({ type, data }: ShownValue): Frame {
  const extra: Record<string, unknown> = {};
  const frame: Record<string, unknown> & { type: string } = { type: "result" };
  for (const [media, content] of Object.entries(data)) {
    const name = NAMES.get(media);
    if (name !== undefined) frame[name] = name === "text" ? unquoted(content) : content;
    else if (!media.startsWith(OWN)) define(extra, media, content);
  }
  return { ...frame, extra, is_main_result: type === "result" };
}

/** Of a text that shows a text, the text itself. */
function unquoted(content: unknown): unknown {
  if (typeof content !== "string" || content.length < 2) return content;
  const [first, last] = [content[0], content.at(-1)];
  return first === last && (first === "'" || first === '"') ? content.slice(1, -1) : content;
}

/** The media type is the sandbox's, and may be `__proto__`. */
function define(record: Record<string, unknown>, name: string, value: unknown): void {
  Object.defineProperty(record, name, { value, enumerable: true, configurable: true, writable: true });
}
