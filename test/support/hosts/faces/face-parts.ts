import type { Json, Shown, ShownPicture } from "../scripted-model.ts";

export const NOTHING: Shown = { texts: [], pictures: [] };

export const toList = (value: unknown): readonly Json[] => (Array.isArray(value) ? (value as readonly Json[]) : []);
export const toRecord = (value: unknown): Json => (typeof value === "object" && value !== null ? (value as Json) : {});
export const toText = (value: unknown): string => (typeof value === "string" ? value : "");

export const textOnly = (text: string): Shown => ({ texts: [text], pictures: [] });

export function pictureOnly(type: unknown, data: unknown): Shown {
  return { texts: [], pictures: [{ type: toText(type), data: Buffer.from(toText(data), "base64") } satisfies ShownPicture] };
}

/** `data:image/png;base64,...` */
export function pictureOfUrl(url: unknown): Shown {
  const [, type, data] = /^data:([^;,]*);base64,(.*)$/s.exec(toText(url)) ?? [];
  return pictureOnly(type, data);
}

export function join(parts: readonly Shown[]): Shown {
  return { texts: parts.flatMap(({ texts }) => texts), pictures: parts.flatMap(({ pictures }) => pictures) };
}

/** Server-sent events. */
export function toEvents(rows: readonly Json[]): string {
  return rows.map((row) => `${"type" in row ? `event: ${toText(row["type"])}\n` : ""}data: ${JSON.stringify(row)}\n\n`).join("");
}
