import type { TemplateDetail } from "../template/wire/template-schema.ts";

export function madeFrom(source: TemplateDetail["source"]): string {
  return source.kind === "image" ? source.from : `snapshot ${source.id}`;
}
