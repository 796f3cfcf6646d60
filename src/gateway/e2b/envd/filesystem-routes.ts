import { posix } from "node:path";
import * as z from "zod";
import { TurnsByKey } from "../../../async/turns-by-key.ts";
import { BelljarError } from "../../../errors.ts";
import type { FileCall, FileInfo, GuestFiles } from "../../../runtime/guest/guest.ts";
import { changes } from "../../auth/access.ts";
import type { Asked, Route } from "../../routes/route.ts";
import type { SandboxAdmission } from "../admit-sandbox.ts";
import type { E2b } from "../e2b.ts";
import { defineUnary } from "./connect/define-call.ts";
import { protoMessage } from "./connect/proto-message.ts";
import type { CallPlace } from "./files/call-place.ts";
import { enterCall } from "./files/call-place.ts";
import { entrySchema, toEntryInfo } from "./files/entry-info.ts";
import type { EntryInfo } from "./files/entry-info.ts";
import { wordFileErrors } from "./files/file-errors.ts";
import { ATTRIBUTE_PREFIX } from "./files/file-metadata.ts";
import { listFolder } from "./files/list-folder.ts";
import type { PolledWatchers } from "./files/polled-watchers.ts";
import { watchRoutes } from "./watch-routes.ts";

const SERVICE = "/filesystem.Filesystem";
const CHANGES = changes("toolset:files");
const path = z.string().max(16_384).default("");
const onePath = protoMessage({ path });
const oneEntry = z.object({ entry: entrySchema });

/** E2B's service of files, by Connect. */
export function filesystemRoutes(e2b: E2b, admission: SandboxAdmission, watchers: PolledWatchers): readonly Route[] {
  const enter = (asked: Asked): Promise<CallPlace> => enterCall(admission, asked);
  // A list is in memory whole, some times over.
  const lists = new TurnsByKey();
  return [
    defineUnary({
      path: `${SERVICE}/Stat`,
      summary: "What lies at a path",
      input: onePath,
      output: oneEntry,
      async handle(asked) {
        const { files, call, toPath } = await enter(asked);
        return { entry: await findEntry(files, toPath(asked.body.path), call) };
      },
    }),
    defineUnary({
      path: `${SERVICE}/ListDir`,
      summary: "What lies in a folder, some levels deep",
      input: protoMessage({ path, depth: z.number().int().min(0).max(4_294_967_295).default(0) }),
      output: z.object({ entries: z.array(entrySchema).readonly() }),
      async handle(asked) {
        const { sandbox, files, call, toPath } = await enter(asked);
        const { path: folder, depth } = asked.body;
        const listing = { path: toPath(folder), depth: Math.max(1, depth) };
        return { entries: await lists.run(sandbox, () => listFolder(files, listing, call), asked.signal) };
      },
    }),
    defineUnary({
      path: `${SERVICE}/MakeDir`,
      summary: "Makes a folder, and those above it",
      access: CHANGES,
      input: onePath,
      output: oneEntry,
      async handle(asked) {
        const { files, call, toPath } = await enter(asked);
        return { entry: await makeFolder(files, toPath(asked.body.path), call) };
      },
    }),
    defineUnary({
      path: `${SERVICE}/Move`,
      summary: "Gives a file or a folder another path",
      access: CHANGES,
      input: protoMessage({ source: path, destination: path }),
      output: oneEntry,
      async handle(asked) {
        const { files, call, toPath } = await enter(asked);
        const { source, destination } = asked.body;
        return { entry: await move(files, { from: toPath(source), to: toPath(destination) }, call) };
      },
    }),
    defineUnary({
      path: `${SERVICE}/Remove`,
      summary: "Removes a file, or a folder with all in it",
      access: CHANGES,
      input: onePath,
      output: z.object({}),
      async handle(asked) {
        const { files, call, toPath } = await enter(asked);
        await removeIfPresent(files, toPath(asked.body.path), call);
        return {};
      },
    }),
    ...watchRoutes(e2b, enter, watchers),
  ];
}

async function findEntry(files: GuestFiles, at: string, call: FileCall): Promise<EntryInfo> {
  return toEntryInfo(await wordFileErrors(at, () => files.stat(at, { ...call, attributes: ATTRIBUTE_PREFIX })), at);
}

async function makeFolder(files: GuestFiles, at: string, call: FileCall): Promise<EntryInfo> {
  const found = await findIfPresent(files, at, call);
  if (found?.type === "directory") throw new BelljarError("FILE_EXISTS", `directory already exists: ${at}`);
  if (found) throw new BelljarError("ARGUMENTS_INVALID", `path already exists but it is not a directory: ${at}`);
  await wordFileErrors(at, () => files.makeDirectory(at, { ...call, parents: true }));
  return findEntry(files, at, call);
}

/** No folder is made for what is not there. */
async function move(files: GuestFiles, { from, to }: { readonly from: string; readonly to: string }, call: FileCall): Promise<EntryInfo> {
  await wordFileErrors(from, () => files.stat(from, call));
  await wordFileErrors(to, () => files.makeDirectory(posix.dirname(to), { ...call, parents: true }));
  await wordFileErrors(to, () => files.rename(from, to, call));
  return findEntry(files, to, call);
}

function findIfPresent(files: GuestFiles, at: string, call: FileCall): Promise<FileInfo | undefined> {
  return ifPresent(wordFileErrors(at, () => files.stat(at, { ...call, follow: true })));
}

async function removeIfPresent(files: GuestFiles, at: string, call: FileCall): Promise<void> {
  await ifPresent(wordFileErrors(at, () => files.remove(at, { ...call, recursive: true })));
}

async function ifPresent<T>(work: Promise<T>): Promise<T | undefined> {
  try {
    return await work;
  } catch (error) {
    if (error instanceof BelljarError && error.code === "FILE_NOT_FOUND") return undefined;
    throw error;
  }
}
