import { join } from "node:path";
import * as z from "zod";
import { mapLimit } from "../../async/map-limit.ts";
import { BelljarError } from "../../errors.ts";
import { errnoOf } from "../../files/file-error.ts";
import { NumberedFile, type Numbered } from "../../files/numbered-file.ts";
import { parseJson } from "../../files/parse-json.ts";
import { namesNow } from "../../files/read-now.ts";
import type { UnitHead } from "../unit.ts";
import { changedMeanwhile } from "./assert-storable.ts";
import { unitHeadSchema, versionHeadSchema } from "./stored-unit.ts";
import { unitKey } from "./unit-folder-names.ts";
import type { UnitId } from "./unit-store.ts";
import { VERSION_FILE } from "./version-files.ts";

const keptSchema = unitHeadSchema.extend({
  format: z.literal(1),
  /** Each version with its file: two writers of one number have a file each, and the head names the winner's. */
  versions: z.array(versionHeadSchema.extend({ file: z.string().regex(VERSION_FILE) })).readonly(),
});

const storedSchema = z.union([
  keptSchema,
  z.strictObject({ format: z.literal(1), owner: z.string(), name: z.string(), isRemoved: z.literal(true) }),
]);

/** A head as its file has it. That of a removed unit stays for a while, so that no slow writer brings the unit back. */
type StoredHead = z.output<typeof storedSchema>;

type KeptHead = z.output<typeof keptSchema>;

/** What became of a unit. A damaged head is nobody's. */
export type FoundHead =
  | { readonly kind: "none" }
  | { readonly kind: "damaged"; readonly path: string }
  | { readonly kind: "removed"; readonly id: UnitId }
  | { readonly kind: "kept"; readonly head: UnitHead; readonly files: ReadonlyMap<number, string> };

const NONE: FoundHead = { kind: "none" };

/** A path that is there and cannot be read is a damaged file; other failures are not the file's. */
const UNREADABLE: ReadonlySet<string | undefined> = new Set(["EISDIR", "EACCES", "ELOOP"]);

/** `<key>/head.<number>.json`: the head of each unit, a numbered file in a folder of its own, so that no call lists all units. */
export class HeadFiles {
  readonly folder: string;
  readonly #report: (problem: string) => void;

  constructor(folder: string, report: (problem: string) => void) {
    this.folder = folder;
    this.#report = report;
  }

  /** Of all units that there are or were. */
  keys(): readonly string[] {
    return namesNow(this.folder).filter((name) => name.includes("@"));
  }

  async all(): Promise<readonly UnitHead[]> {
    const found = await mapLimit(this.keys(), 1, (key) => this.read(key));
    return found.flatMap((one) => (one.kind === "kept" ? [one.head] : []));
  }

  read(key: string): FoundHead {
    return this.readNumbered(key).value;
  }

  /** The head with the number of its change. */
  readNumbered(key: string): Numbered<FoundHead> {
    try {
      return this.#file(key).readNow(NONE);
    } catch (cause) {
      if (!UNREADABLE.has(errnoOf(cause instanceof Error ? cause.cause : undefined))) throw cause;
      return { number: 0, value: this.#damaged(join(this.folder, key)) };
    }
  }

  /** Rejects with `TOOL_CONFLICT` unless the stored head has this revision. Resolves with the files of versions that are named no more. */
  async change(id: UnitId, expected: number, next: (files: ReadonlyMap<number, string>) => FoundHead): Promise<readonly string[]> {
    let dropped: readonly string[] = [];
    const change = (before: FoundHead): FoundHead => {
      assertRevision(id, before, expected);
      const after = next(filesOf(before));
      const kept = new Set(filesOf(after).values());
      dropped = [...filesOf(before).values()].filter((file) => !kept.has(file));
      return after;
    };
    await this.#file(unitKey(id)).change(NONE, change, () => true);
    return dropped;
  }

  /** Removes what is left of a removed unit. */
  async forget(key: string): Promise<void> {
    await this.#file(key).remove();
  }

  #file(key: string): NumberedFile<FoundHead> {
    return new NumberedFile({
      folder: join(this.folder, key),
      name: "head",
      title: `the unit of tools ${key}`,
      serialise: (found) => JSON.stringify(z.encode(storedSchema, toStored(found))),
      parse: (text, path) => fromStored(key, storedSchema.safeParse(parseJson(text)).data) ?? this.#damaged(path),
    });
  }

  #damaged(path: string): FoundHead {
    this.#report(`A unit of tools is left out: ${path} is damaged; put it back from a backup, or remove it`);
    return { kind: "damaged", path };
  }
}

export function filesOf(found: FoundHead): ReadonlyMap<number, string> {
  return found.kind === "kept" ? found.files : new Map();
}

export function idOf(found: FoundHead): UnitId | undefined {
  if (found.kind === "removed") return found.id;
  return found.kind === "kept" ? { owner: found.head.owner, name: found.head.name } : undefined;
}

function assertRevision(id: UnitId, before: FoundHead, expected: number): void {
  if (before.kind === "damaged")
    throw new BelljarError(
      "FILE_IO",
      `The tools ${JSON.stringify(id.name)} cannot change, because ${before.path} is damaged: remove that file`,
    );
  const revision = before.kind === "kept" ? before.head.revision : 0;
  if (revision !== expected) throw changedMeanwhile(id);
}

function toStored(found: FoundHead): StoredHead {
  if (found.kind === "removed") return { format: 1, ...found.id, isRemoved: true };
  if (found.kind !== "kept") throw new BelljarError("INTERNAL", "Only the head of a unit can be stored");
  const versions = found.head.versions.map((version) => ({ ...version, file: found.files.get(version.number) ?? "" }));
  return { format: 1, ...found.head, versions };
}

/** Undefined for a file that is damaged or of another unit. */
function fromStored(key: string, stored: StoredHead | undefined): FoundHead | undefined {
  if (stored === undefined || unitKey(stored) !== key) return undefined;
  if ("isRemoved" in stored) return { kind: "removed", id: { owner: stored.owner, name: stored.name } };
  return { kind: "kept", head: toHead(stored), files: new Map(stored.versions.map(({ number, file }) => [number, file])) };
}

function toHead({ format: _format, ...head }: KeptHead): UnitHead {
  return { ...head, versions: head.versions.map(({ file: _file, ...version }) => version) };
}
