import type { TemplateDetail } from "../template/wire/template-schema.ts";

export function madeFrom(source: TemplateDetail["source"]): string {
  switch (source.kind) {
    case "image":
      return source.from;
    case "snapshot":
      return `snapshot ${source.id}`;
    case "debian":
      return `Debian ${[source.suite, ...source.packages].join(" ")}`;
    case "folder":
      return `folder ${source.path}`;
    case "dockerfile":
      return `Dockerfile from ${source.from}`;
  }
}
