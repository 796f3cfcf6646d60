import { createHash } from "node:crypto";
import { resolve } from "node:path";
import { z } from "zod";
import { highestNumbers, NumberedFile, watchNumberedFiles } from "../../../files/numbered-file.ts";
import { parseJson } from "../../../files/parse-json.ts";
import { ensurePrivateFolder } from "../../../files/private-files.ts";
import { namesNow } from "../../../files/read-now.ts";
import { networkPolicySchema } from "../../../sandbox/network-schema.ts";
import { describeServer, shapeOf } from "../describe-server.ts";
import type { HubServer } from "../hub-server.ts";
import { digestOf } from "../../../files/canonical.ts";

const waiting = z.object({
  name: z.string(),
  digest: z.string(),
  transport: z.enum(["stdio", "http"]).optional(),
  isolation: z.enum(["sandbox", "none"]).optional(),
  network: networkPolicySchema.optional(),
  runs: z.string(),
  mount: z.object({ host: z.string(), mode: z.enum(["copy", "ro", "rw"]) }).optional(),
});
const stored = z.object({
  version: z.literal(1),
  wasShown: z.boolean(),
  names: z.array(z.string()),
  approved: z.array(z.tuple([z.string(), z.string()])),
  waiting: z.array(waiting),
});

/** A server of a file that waits, as whoever approves it is shown it. */
export type WaitingServer = z.output<typeof waiting>;

/** What a home holds of one file of servers. */
export interface FileRecord {
  /** Whether a program in a sandbox could ever have written the file. */
  readonly wasShown: boolean;
  /** Of all its servers, as it was read last. */
  readonly names: readonly string[];
  /** The digest of the approved server, by name. */
  readonly approved: readonly (readonly [name: string, digest: string])[];
  readonly waiting: readonly WaitingServer[];
}

/** Nothing was ever read. */
const NONE: FileRecord = { wasShown: false, names: [], approved: [], waiting: [] };
/** Nobody knows who wrote the file. */
const DAMAGED: FileRecord = { ...NONE, wasShown: true };

/**
 * What was approved of a file that a command line names, and what of it waits. It is kept in the home, for every process that is given this file, and
 * outlives them.
 */
export class FileApprovals {
  readonly #folder: string;
  readonly #key: string;

  constructor(folder: string, file: string) {
    this.#folder = folder;
    this.#key = createHash("sha256").update(resolve(file)).digest("hex").slice(0, 32);
  }

  read(): FileRecord {
    return recordOf(this.#folder, this.#key).readNow(NONE).value;
  }

  /** Writes what `change` gives; it is called again if another process was quicker. Nothing is written for the same. */
  async change(change: (before: FileRecord) => FileRecord): Promise<FileRecord> {
    await ensurePrivateFolder(this.#folder);
    return changeRecord(this.#folder, this.#key, change);
  }

  /** Calls back after this or another process has changed it, until it is closed. */
  async watch(changed: () => void, failed: (cause: Error) => void): Promise<{ close(): void }> {
    await ensurePrivateFolder(this.#folder);
    return watchNumberedFiles(this.#folder, { changed: (key) => void (key === this.#key && changed()), failed });
  }
}

/** The servers of files that wait for an approval in this home. */
export function waitingInHome(folder: string): readonly WaitingServer[] {
  return recordsOf(folder).flatMap(([, record]) => record.waiting);
}

/** Whether a file that a process of this home was given has a server of the name. */
export function isNamedInHome(folder: string, name: string): boolean {
  return recordsOf(folder).some(([, { names }]) => names.includes(name));
}

/** Approves what waits with this digest, in every file that has it. The processes with these files take it up at once. */
export async function approveInHome(folder: string, { name, digest }: Pick<WaitingServer, "name" | "digest">): Promise<void> {
  for (const [key, record] of recordsOf(folder))
    if (record.waiting.some((one) => one.name === name && one.digest === digest))
      await changeRecord(folder, key, (before) => withApproved(before, name, digest));
}

export function withApproved(record: FileRecord, name: string, digest: string): FileRecord {
  const approved = record.approved.filter(([other]) => other !== name);
  return { ...record, approved: [...approved, [name, digest]], waiting: record.waiting.filter((one) => one.digest !== digest) };
}

/** `redact`: a text without the secrets that can be recognised in it. */
export function toWaiting(server: HubServer, redact: (text: string) => string): WaitingServer {
  const { transport, isolation, network } = shapeOf(server);
  const { mount } = server.settings;
  return {
    name: server.name,
    digest: digestOf(server),
    ...(transport && { transport }),
    ...(isolation && { isolation }),
    ...(network && { network }),
    runs: redact(describeServer(server)),
    ...(mount && { mount }),
  };
}

async function changeRecord(folder: string, key: string, change: (before: FileRecord) => FileRecord): Promise<FileRecord> {
  const same = (before: FileRecord): FileRecord => {
    const after = change(before);
    return digestOf(after) === digestOf(before) ? before : after;
  };
  return (await recordOf(folder, key).change(NONE, same, () => true)).value;
}

function recordsOf(folder: string): readonly (readonly [key: string, record: FileRecord])[] {
  return [...highestNumbers(namesNow(folder)).keys()].map((key) => [key, recordOf(folder, key).readNow(NONE).value]);
}

function recordOf(folder: string, name: string): NumberedFile<FileRecord> {
  return new NumberedFile({
    folder,
    name,
    title: "what was approved of a file of MCP servers",
    serialise: (record) => JSON.stringify({ version: 1, ...record }),
    parse: (text) => {
      const { data } = stored.safeParse(parseJson(text));
      if (!data) return DAMAGED;
      const { version: _version, ...record } = data;
      return record;
    },
  });
}
