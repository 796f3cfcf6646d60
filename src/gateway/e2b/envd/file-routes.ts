import { Readable } from "node:stream";
import * as z from "zod";
import { BelljarError } from "../../../errors.ts";
import type { Sandbox } from "../../../sandbox/sandbox.ts";
import { changes, reads } from "../../auth/access.ts";
import type { Asked, Route } from "../../routes/route.ts";
import { defineRoute } from "../../routes/route.ts";
import type { SandboxAdmission } from "../admit-sandbox.ts";
import type { E2b } from "../e2b.ts";
import { composeFiles } from "./files/compose-files.ts";
import type { EntryInfo } from "./files/entry-info.ts";
import { entrySchema, toEntryInfo } from "./files/entry-info.ts";
import { answerFile } from "./files/file-answer.ts";
import { unpackBody } from "./files/file-encoding.ts";
import { ATTRIBUTE_PREFIX, parseMetadata } from "./files/file-metadata.ts";
import type { FileUser } from "./files/file-user.ts";
import { callAs, findFileUser, resolveFilePath } from "./files/file-user.ts";
import type { ZipShares } from "./files/zip-shares.ts";
import { createZipShares } from "./files/zip-shares.ts";
import type { WrittenFile } from "./files/upload-files.ts";
import { uploadBytes, uploadParts } from "./files/upload-files.ts";

const READS = reads("toolset:files");
const CHANGES = changes("toolset:files");
const FORM = "multipart/form-data";
const BYTES = "application/octet-stream";
/** A sandbox's disk ends long before. The bytes go through as they come. */
const UPLOAD_MAX_BYTES = 1024 ** 4;
const SOURCES_MAX = 1_000;

const text = z.string().max(16_384);
/** The signature was looked at before. */
const fileQuery = z.object({
  path: text.optional().describe("`~` and relative paths begin at the user's home"),
  username: text.optional().describe("Default: the sandbox's own user"),
  signature: text.optional().describe("In the place of X-Access-Token: made of it, the path, the user and what is done"),
  signature_expiration: text.optional().describe("Unix time in seconds"),
});
type FileQuery = z.output<typeof fileQuery>;

const writtenSchema = z.object({
  name: z.string(),
  path: z.string(),
  type: z.literal("file"),
  metadata: z.record(z.string(), z.string()).readonly().optional(),
});

const composition = z.object({
  source_paths: z.array(text).min(1, "source_paths must not be empty").max(SOURCES_MAX),
  destination: text.min(1, "destination is required"),
  username: text.optional(),
});

/** Files as E2B's clients read and write them over plain HTTP. */
export function fileRoutes(_e2b: E2b, admission: SandboxAdmission): readonly Route[] {
  const zips = createZipShares();
  return [readRoute(admission, zips), writeRoute(admission, zips), composeRoute(admission)];
}

function readRoute(admission: SandboxAdmission, zips: ZipShares): Route {
  return defineRoute({
    method: "GET",
    path: "/files",
    access: READS,
    summary: "A file of a sandbox, or a range of it",
    query: fileQuery,
    answers: { 200: z.unknown().meta({ contentTypes: [BYTES] }), 206: z.unknown().meta({ contentTypes: [BYTES] }), 304: null, 416: null },
    async handle(asked) {
      const { sandbox, user } = await enter(admission, asked, asked.query.username);
      const path = resolveFilePath(asked.query.path ?? "", user);
      const { headers, method } = asked.request;
      const takeZip = (): Disposable | undefined => zips.take(sandbox.owner);
      const question = { guest: sandbox.guest, user, path, headers, isHead: method === "HEAD", signal: asked.signal, takeZip };
      const answer = await answerFile(question);
      asked.setStatus(answer.status);
      for (const [name, value] of Object.entries(answer.headers)) asked.setHeader(name, value);
      return answer.content;
    },
  });
}

function writeRoute(admission: SandboxAdmission, zips: ZipShares): Route {
  return defineRoute({
    method: "POST",
    path: "/files",
    access: CHANGES,
    summary: "Writes files into a sandbox: the parts of a form, or the body",
    query: fileQuery,
    takes: { types: [FORM, BYTES], limitBytes: UPLOAD_MAX_BYTES },
    body: z.instanceof(Readable),
    answers: { 200: z.array(writtenSchema).readonly() },
    async handle(asked) {
      const metadata = parseMetadata(asked.request.headers);
      using _place = takeUnzip(zips, admission.of(asked.request).owner, asked.request.headers["content-encoding"]);
      const body = unpackBody(asked.body, asked.request.headers["content-encoding"]);
      try {
        return await write(admission, asked, { body, metadata });
      } finally {
        // What nobody reads of the request itself is read and dropped once the answer is out.
        if (body !== asked.body) body.destroy();
      }
    },
  });
}

/** Throws `QUOTA_EXCEEDED` while none is free. */
function takeUnzip(zips: ZipShares, owner: string, encoding = "identity"): Disposable | undefined {
  if (["", "identity"].includes(encoding.trim().toLowerCase())) return undefined;
  const place = zips.take(owner);
  if (place) return place;
  const message = "Too many packed files are being written: send the body without Content-Encoding, or try again";
  throw new BelljarError("QUOTA_EXCEEDED", message, { retryAfterMs: 1_000 });
}

interface Writing {
  readonly body: Readable;
  readonly metadata: Readonly<Record<string, string>>;
}

async function write(
  admission: SandboxAdmission,
  asked: Asked<unknown, FileQuery>,
  { body, metadata }: Writing,
): Promise<readonly WrittenFile[]> {
  const { sandbox, user } = await enter(admission, asked, asked.query.username);
  const type = asked.request.headers["content-type"] ?? "";
  const upload = { sandbox, user, path: asked.query.path, metadata, signal: asked.signal };
  return type.toLowerCase().startsWith(FORM) ? uploadParts(upload, body, type) : uploadBytes(upload, body);
}

function composeRoute(admission: SandboxAdmission): Route {
  return defineRoute({
    method: "POST",
    path: "/files/compose",
    access: CHANGES,
    summary: "Makes one file of several, which then go",
    body: composition,
    answers: { 200: entrySchema },
    async handle(asked): Promise<EntryInfo> {
      const { source_paths: paths, destination: target, username } = asked.body;
      const { sandbox, user } = await enter(admission, asked, username);
      const { files } = sandbox.guest;
      const call = callAs(user, asked.signal);
      const destination = resolveFilePath(target, user);
      await composeFiles(files, { sources: paths.map((path) => resolveFilePath(path, user)), destination }, call);
      return toEntryInfo(await files.stat(destination, { ...call, attributes: ATTRIBUTE_PREFIX }), destination);
    },
  });
}

/** The sandbox of the request, and who works in it. Rejects with `UNAUTHORIZED` for a user whom it does not have. */
async function enter(
  admission: SandboxAdmission,
  asked: Asked,
  username: string | undefined,
): Promise<{ sandbox: Sandbox; user: FileUser }> {
  const sandbox = admission.of(asked.request);
  asked.reached(sandbox.id);
  const user = await findFileUser(sandbox, username, asked.signal);
  if (user) return { sandbox, user };
  throw new BelljarError("UNAUTHORIZED", `error looking up user '${username}': user: unknown user ${username}`);
}
