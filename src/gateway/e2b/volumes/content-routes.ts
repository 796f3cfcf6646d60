import { Readable } from "node:stream";
import * as z from "zod";
import type { VolumeEntry } from "../../../sandbox/volumes/volumes.ts";
import type { Route } from "../../routes/route.ts";
import { defineRoute } from "../../routes/route.ts";
import { CHANGES, READS } from "../control/scopes.ts";
import type { VolumeAdmission } from "./admit-volume.ts";

export const CONTENT = "/volumecontent";
const BYTES = "application/octet-stream";
/** The quota ends before. The bytes go through as they come. */
const UPLOAD_MAX_BYTES = 1024 ** 4;
const DEPTH_MAX = 100;
const ID_MAX = 2 ** 32 - 2;

const params = z.object({ id: z.string().max(64) });
const pathQuery = z.object({ path: z.string().max(8_192).describe("Begins at the volume's root; no link is followed") });
const id = z.coerce.number().int().min(0).max(ID_MAX);
const mode = z.coerce.number().int().min(0).max(0o7777).describe("Permission bits");
const force = z.stringbool().optional();
const makeQuery = pathQuery.extend({ uid: id.optional(), gid: id.optional(), mode: mode.optional(), force });

const entrySchema = z.object({
  name: z.string(),
  path: z.string(),
  type: z.enum(["unknown", "file", "directory", "symlink"]),
  size: z.int(),
  mode: z.int(),
  uid: z.int(),
  gid: z.int(),
  atime: z.iso.datetime(),
  mtime: z.iso.datetime(),
  ctime: z.iso.datetime(),
  target: z.string().optional().describe("Of a link: its text"),
});

/** What E2B's clients do with the files of a volume. */
export function contentRoutes(admission: VolumeAdmission): readonly Route[] {
  return [...folderRoutes(admission), ...entryRoutes(admission), ...fileRoutes(admission)];
}

function folderRoutes(admission: VolumeAdmission): readonly Route[] {
  const path = `${CONTENT}/:id/dir`;
  return [
    defineRoute({
      method: "GET",
      path,
      access: READS,
      summary: "What lies in a folder of a volume",
      params,
      query: pathQuery.extend({ depth: z.coerce.number().int().min(1).max(DEPTH_MAX).optional().describe("Levels, default 1") }),
      answers: { 200: z.array(entrySchema).readonly() },
      handle: async ({ request, query, signal }) => (await admission.of(request).list(query.path, query.depth ?? 1, signal)).map(toAnswer),
    }),
    defineRoute({
      method: "POST",
      path,
      access: CHANGES,
      summary: "Makes a folder in a volume; with `force` those above it too",
      params,
      query: makeQuery,
      body: z.unknown(),
      takes: { isOptional: true },
      answers: { 201: entrySchema },
      handle: async ({ request, query: { path: text, ...options } }) => toAnswer(await admission.of(request).makeFolder(text, options)),
    }),
  ];
}

function entryRoutes(admission: VolumeAdmission): readonly Route[] {
  const path = `${CONTENT}/:id/path`;
  const numbers = z.object({
    uid: z.int().min(0).max(ID_MAX).nullish(),
    gid: z.int().min(0).max(ID_MAX).nullish(),
    mode: z.int().min(0).max(0o7777).nullish(),
  });
  return [
    defineRoute({
      method: "GET",
      path,
      access: READS,
      summary: "A file, folder or link of a volume",
      params,
      query: pathQuery,
      answers: { 200: entrySchema },
      handle: async ({ request, query }) => toAnswer(await admission.of(request).stat(query.path)),
    }),
    defineRoute({
      method: "PATCH",
      path,
      access: CHANGES,
      summary: "Gives a file or folder of a volume another owner or mode",
      params,
      query: pathQuery,
      body: numbers,
      answers: { 200: entrySchema },
      async handle({ request, query, body: { uid, gid, mode: bits } }) {
        const metadata = { uid: uid ?? undefined, gid: gid ?? undefined, mode: bits ?? undefined };
        return toAnswer(await admission.of(request).update(query.path, metadata));
      },
    }),
    defineRoute({
      method: "DELETE",
      path,
      access: CHANGES,
      summary: "Removes a file, link or folder of a volume, with all in it",
      params,
      query: pathQuery,
      answers: { 204: null },
      handle: ({ request, query }) => admission.of(request).remove(query.path),
    }),
  ];
}

function fileRoutes(admission: VolumeAdmission): readonly Route[] {
  const path = `${CONTENT}/:id/file`;
  return [
    defineRoute({
      method: "GET",
      path,
      access: READS,
      summary: "The content of a file of a volume",
      params,
      query: pathQuery,
      answers: { 200: z.unknown().meta({ contentTypes: [BYTES] }) },
      async handle(asked) {
        const { file, size } = await admission.of(asked.request).open(asked.query.path);
        asked.setType(BYTES);
        if (size === 0) {
          await file.close();
          return Buffer.alloc(0);
        }
        return file.createReadStream();
      },
    }),
    defineRoute({
      method: "PUT",
      path,
      access: CHANGES,
      summary: "Writes a file of a volume, whole or not at all; `force=false` leaves one that is there",
      params,
      query: makeQuery,
      body: z.instanceof(Readable).optional(),
      takes: { types: [BYTES], limitBytes: UPLOAD_MAX_BYTES, isOptional: true },
      answers: { 201: entrySchema },
      async handle({ request, query: { path: text, ...options }, body = Readable.from([]), signal }) {
        return toAnswer(await admission.of(request).write(text, body as AsyncIterable<Buffer>, options, signal));
      },
    }),
  ];
}

function toAnswer({ atime, mtime, ctime, ...entry }: VolumeEntry): z.output<typeof entrySchema> {
  return { ...entry, atime: atime.toISOString(), mtime: mtime.toISOString(), ctime: ctime.toISOString() };
}
