import { createHash } from "node:crypto";
import { z } from "zod";
import { BelljarError } from "../../../errors.ts";
import { ensurePrivateFolder } from "../../../files/private-files.ts";
import { NumberedFile, watchNumberedFiles } from "../../../files/numbered-file.ts";
import { parseJson } from "../../../files/parse-json.ts";
import { digestOf } from "../../../files/canonical.ts";
import { changedSince } from "./pin-file.ts";

/** How many servers one owner may have added. */
export const SERVERS_MAX = 50;
/** Of one entry, as JSON. */
const ENTRY_MAX_BYTES = 262_144;
const NAME = /^[A-Za-z0-9][A-Za-z0-9 ._-]{0,63}$/;

const stored = z.object({
  entry: z.record(z.string(), z.unknown()),
  origin: z.enum(["machine", "network"]),
  approved: z.string().optional(),
});
const content = z.object({ version: z.literal(1), servers: z.array(z.tuple([z.string(), stored])) });

/** A server that an owner has added. */
export interface StoredServer {
  /** As hosts write it. */
  readonly entry: Readonly<Record<string, unknown>>;
  /** `machine`: whoever may write to the home wrote it. `network`: it came over HTTP, and may say nothing that reaches the host. */
  readonly origin: "machine" | "network";
  /** The digest of the entry that somebody who may has approved. */
  readonly approved?: string | undefined;
}

export type StoredServers = ReadonlyMap<string, StoredServer>;

/** Encrypts the file of each owner: entries hold keys. */
export interface StoreSeal {
  readonly folder: string;
  seal(owner: string, text: string): Promise<string>;
  unseal(owner: string, sealed: string): Promise<string>;
}

export interface StoreEars {
  /** Called with `keyOf(owner)` after this or another process has changed the owner's servers. */
  readonly changed: (key: string) => void;
  readonly failed: (cause: Error) => void;
}

/** The servers that owners have added to this home, one file an owner, which any number of processes may change. */
export class ServerStore {
  readonly #seal: StoreSeal;

  constructor(seal: StoreSeal) {
    this.#seal = seal;
  }

  /** What stands for an owner in names of files: an id may be any text. */
  keyOf(owner: string): string {
    return createHash("sha256").update(owner).digest("hex").slice(0, 32);
  }

  /** Undefined if nothing was ever written for the owner. */
  async read(owner: string): Promise<StoredServers | undefined> {
    const { value } = await this.#file(owner).read(undefined);
    return value === undefined ? undefined : this.#open(owner, value);
  }

  /** Writes what `change` gives; it is called again if another process was quicker. Nothing is written if it gives the same map. */
  async change(owner: string, change: (servers: StoredServers) => StoredServers): Promise<void> {
    await ensurePrivateFolder(this.#seal.folder);
    await this.#file(owner).change(
      "",
      async (before) => {
        const servers = before === "" ? new Map<string, StoredServer>() : await this.#open(owner, before);
        const after = change(servers);
        if (after === servers) return before;
        return this.#seal.seal(owner, JSON.stringify({ version: 1, servers: [...after] }));
      },
      () => true,
    );
  }

  /** Watches until it is closed. */
  async watch({ changed, failed }: StoreEars): Promise<{ close(): void }> {
    await ensurePrivateFolder(this.#seal.folder);
    return watchNumberedFiles(this.#seal.folder, { changed, failed });
  }

  #file(owner: string): NumberedFile<string> {
    const title = "the MCP servers of an owner";
    return new NumberedFile({
      folder: this.#seal.folder,
      name: this.keyOf(owner),
      title,
      serialise: (text) => text,
      parse: (text) => text,
    });
  }

  async #open(owner: string, sealed: string): Promise<StoredServers> {
    const { data } = content.safeParse(parseJson(await this.#seal.unseal(owner, sealed)));
    if (data) return new Map(data.servers);
    throw new BelljarError("FILE_IO", `A file of MCP servers in ${this.#seal.folder} is of another version of Belljar`);
  }
}

/** With these servers added, or in the place of those of the same names. Throws `ARGUMENTS_INVALID` and `QUOTA_EXCEEDED`. */
export function withServers(servers: StoredServers, added: StoredServers): StoredServers {
  for (const [name, { entry }] of added) assertFits(name, entry);
  const after = new Map([...servers, ...added]);
  if (after.size > SERVERS_MAX)
    throw new BelljarError(
      "QUOTA_EXCEEDED",
      `An owner may have added ${SERVERS_MAX} MCP servers: remove one with \`belljar server remove NAME\``,
    );
  const isSame = [...added].every(([name, one]) => digestOf(servers.get(name)) === digestOf(one));
  return isSame ? servers : after;
}

export function withoutServer(servers: StoredServers, name: string): StoredServers {
  if (!servers.has(name)) return servers;
  return new Map([...servers].filter(([other]) => other !== name));
}

/** With the approval of one, as it is now. `digest`: that of what whoever approves has seen. Throws `MCP_SERVER_CHANGED` for another entry. */
export function withApproval(servers: StoredServers, name: string, digest?: string): StoredServers {
  const found = servers.get(name);
  if (!found) return servers;
  const approved = digestOf(found.entry);
  if (digest !== undefined && digest !== approved) throw changedSince(name);
  return found.approved === approved ? servers : new Map([...servers, [name, { ...found, approved }]]);
}

export function isApproved({ entry, approved }: StoredServer): boolean {
  return approved === digestOf(entry);
}

function assertFits(name: string, entry: StoredServer["entry"]): void {
  if (!NAME.test(name))
    throw invalid(
      `An MCP server's name is 1 to 64 letters, digits, spaces, dots, hyphens and underscores, and starts with a letter or digit`,
    );
  if (Buffer.byteLength(JSON.stringify(entry)) > ENTRY_MAX_BYTES)
    throw invalid(`The entry of the MCP server "${name}" has over ${ENTRY_MAX_BYTES} bytes`);
}

function invalid(message: string): BelljarError {
  return new BelljarError("ARGUMENTS_INVALID", message);
}
