import * as z from "zod";
import type { Principal } from "../../sandbox/sandbox.ts";
import type { TemplateDetail } from "../../template/wire/template-schema.ts";

export const ShownTemplate = z.object({
  name: z.string(),
  description: z.string().optional(),
  created_at: z.string(),
  image: z.string().optional().describe("The image that it was made from"),
  snapshot_id: z.string().optional().describe("The snapshot that it was made from"),
  from: z.string().optional().describe("What the last stage of the Dockerfile begins with that it was made from"),
  folder: z.string().optional().describe("The folder that it was made from"),
  layers: z.number().int(),
  bytes: z.number(),
  user: z.string().optional().describe("As which commands run that name nobody"),
  cwd: z.string().optional().describe("Where commands start"),
  command: z.array(z.string()).optional().describe("What the image would run; Belljar does not run it"),
  start_command: z.string().optional().describe("What its sandboxes run from their start on"),
  is_own: z.boolean().describe("Otherwise another caller shares it"),
  is_shared: z.boolean(),
});

export function toShownTemplate(template: TemplateDetail, { id }: Principal): z.output<typeof ShownTemplate> {
  const { name, description, createdAt, source, layers, bytes, user, cwd, command, start, owner, isShared } = template;
  return {
    name,
    ...(description !== undefined && { description }),
    created_at: createdAt.toISOString(),
    ...shownSource(source),
    layers,
    bytes,
    ...(user !== undefined && { user }),
    ...(cwd !== undefined && { cwd }),
    ...(command && { command: [...command] }),
    ...(start && { start_command: start.command }),
    is_own: owner === id,
    is_shared: isShared,
  };
}

function shownSource(source: TemplateDetail["source"]): Pick<z.output<typeof ShownTemplate>, "image" | "snapshot_id" | "folder" | "from"> {
  switch (source.kind) {
    case "image":
      return { image: source.from };
    case "snapshot":
      return { snapshot_id: source.id };
    case "debian":
      return { from: `Debian ${source.suite}` };
    case "folder":
      return { folder: source.path };
    case "dockerfile":
      return { from: source.from };
  }
}
