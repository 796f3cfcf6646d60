import { posix } from "node:path";
import type { Readable } from "node:stream";
import { BelljarError } from "../../../../errors.ts";
import type { Sandbox } from "../../../../sandbox/sandbox.ts";
import { wordFileErrors } from "./file-errors.ts";
import type { FileMetadata } from "./file-metadata.ts";
import { writeMetadata } from "./file-metadata.ts";
import { readFileParts } from "./file-parts.ts";
import type { FileUser } from "./file-user.ts";
import { callAs, resolveFilePath } from "./file-user.ts";

export interface Upload {
  readonly sandbox: Sandbox;
  readonly user: FileUser;
  /** As the client wrote it. Absent: each part names its own. */
  readonly path: string | undefined;
  /** Of each file. */
  readonly metadata: FileMetadata;
  readonly signal: AbortSignal;
}

export interface WrittenFile {
  readonly name: string;
  readonly path: string;
  readonly type: "file";
  readonly metadata?: FileMetadata;
}

/** Writes the files of a form, one after the other. Rejects with `ARGUMENTS_INVALID` when two of them have the same path; the first one is written then. */
export async function uploadParts(upload: Upload, body: Readable, contentType: string): Promise<readonly WrittenFile[]> {
  const written = new Map<string, WrittenFile>();
  await readFileParts(body, contentType, async ({ fileName, content }) => {
    const name = upload.path ?? fileName;
    if (name === undefined || name === "")
      throw new BelljarError("ARGUMENTS_INVALID", "Name the file: by the query's `path`, or by the part's filename");
    const path = resolveFilePath(name, upload.user);
    if (written.has(path)) throw twice(path);
    written.set(path, await writeOne(upload, path, content));
  });
  return [...written.values()];
}

/** Writes the body into the file. */
export async function uploadBytes(upload: Upload, body: Readable): Promise<readonly WrittenFile[]> {
  if (upload.path === undefined) throw new BelljarError("ARGUMENTS_INVALID", "path query parameter is required for raw body upload");
  return [await writeOne(upload, resolveFilePath(upload.path, upload.user), body)];
}

/** Whole or not at all: readers see the old file or the new one, and a client that goes away leaves the old one. */
async function writeOne({ sandbox: { guest }, user, metadata, signal }: Upload, path: string, content: Readable): Promise<WrittenFile> {
  const call = callAs(user, signal);
  await wordFileErrors(path, async () => {
    await guest.files.write(path, content, call);
    await writeMetadata({ guest, user, path, signal }, metadata);
  });
  const hasMetadata = Object.keys(metadata).length > 0;
  return { name: posix.basename(path), path, type: "file", ...(hasMetadata && { metadata }) };
}

function twice(path: string): BelljarError {
  const message = `you cannot upload multiple files to the same path '${path}' in one upload request, only the first specified file was uploaded`;
  return new BelljarError("ARGUMENTS_INVALID", message);
}
