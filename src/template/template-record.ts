import * as z from "zod";
import { parseJson } from "../files/parse-json.ts";
import type { Principal } from "../sandbox/sandbox.ts";
import type { TemplateSource } from "../sandbox/template-source.ts";
import { type TemplateDetail, templateSchema } from "./wire/template-schema.ts";

/** In the place of a path of the host. */
const HIDDEN = "(on the host)";

const schema = templateSchema.omit({ isShared: true, layers: true }).extend({
  version: z.literal(1),
  /** The topmost first. */
  layers: z.array(z.string()).readonly(),
  /** What a layer was merged from. Uses them too. */
  parts: z.array(z.string()).readonly().optional(),
  /** Folder of the host whose files it has, from a whole snapshot. */
  tookIn: z.string().min(1).optional(),
  /** Of its user. Absent: as on the base. */
  home: z.string().min(1).optional(),
  /** What `home` and `cwd` were found in, as a digest. Absent: in what may have changed. */
  tried: z.string().min(1).optional(),
});

/** A template as the disk has it. Written once, and never changed: a new build has a new id. */
export type TemplateRecord = Readonly<z.output<typeof schema>>;

/** Undefined when the text is no record of this template. */
export function parseTemplate(id: string, text: string): TemplateRecord | undefined {
  const record = schema.safeParse(parseJson(text)).data;
  return record?.id === id ? record : undefined;
}

/** What a caller may know of it. */
export function toDetail(record: TemplateRecord, isShared: boolean, { id }: Pick<Principal, "id">): TemplateDetail {
  const { version: _, home: __, tookIn: ___, tried: ____, layers, parts = layers, ...told } = record;
  return { ...told, source: shownSource(record, id), layers: parts.length, isShared };
}

/** Where a file or folder lies on the host is its owner's alone. */
export function shownSource({ source, owner }: TemplateRecord, viewer: string): TemplateRecord["source"] {
  if (owner === viewer) return source;
  if (source.kind === "folder") return { ...source, path: HIDDEN };
  return "from" in source && source.from.startsWith("/") ? { ...source, from: HIDDEN } : source;
}

export function toSource({
  id,
  name,
  owner,
  runtime,
  base,
  layers,
  createdAt,
  env,
  user,
  start,
  limits,
  home,
  cwd,
  tookIn,
}: TemplateRecord): TemplateSource {
  return { id, name, owner, runtime, base, layers, createdAt, env, user, start, limits, home, cwd, tookIn };
}
