import * as z from "zod";
import { parseJson } from "../../files/parse-json.ts";
import { dateField } from "../wire/fields.ts";

/** The first part of an id says where the volume lies, the rest tells it from later ones of the same name. */
const PLACE_LENGTH = 20;
const VOLUME_ID = /^[a-z0-9]{40}$/;

const schema = z.object({
  version: z.literal(1),
  id: z.string().regex(VOLUME_ID),
  owner: z.string().min(1),
  /** Folder of the host for whose work it was made. */
  project: z.string().optional(),
  /** No two volumes of an owner have the same. */
  name: z.string().min(1),
  /** Its folder belongs to this one, and sandboxes of others cannot have it. */
  runtime: z.string().min(1),
  createdAt: dateField,
  /** So much it takes before further uploads and mounts are refused. */
  quotaBytes: z.number().int().positive(),
});

/** A folder of the home that several sandboxes of its owner share. Written once, and never changed. */
export type Volume = Readonly<z.output<typeof schema>>;

/** Undefined when the text is no record of a volume at this place. */
export function parseVolume(place: string, text: string): Volume | undefined {
  const volume = schema.safeParse(parseJson(text)).data;
  return volume && placeOf(volume.id) === place ? volume : undefined;
}

export function isVolumeId(text: string): boolean {
  return VOLUME_ID.test(text);
}

/** The name of its folder. */
export function placeOf(id: string): string {
  return id.slice(0, PLACE_LENGTH);
}
