import { mkdir } from "node:fs/promises";
import { isDeepStrictEqual } from "node:util";
import type { UnitSpec } from "../unit.ts";
import { isSameSpec, toEdit, toTexts, type UnitTexts } from "./manifest.ts";
import type { PlacedFiles } from "./placed-files.ts";
import { digestOf, readUnitFolder, type FoundFiles } from "./read-unit-folder.ts";
import { replaceOurs, settleHeld, type UnitPlace } from "./replace-ours.ts";
import type { UnitEdit } from "./unit-store.ts";
import { removeIfEmpty } from "./version-files.ts";

/** Whoever finds other contents in so many rounds leaves the rest to the processes that write them. */
const MAX_ROUNDS = 5;

/** What a unit's folder should hold. */
export type Wanted =
  | { readonly kind: "spec"; readonly spec: UnitSpec }
  /** The unit was removed. */
  | { readonly kind: "nothing" }
  /** There is no such unit yet: all files are a person's. */
  | { readonly kind: "free" }
  /** What is stored cannot be read: nothing is written. */
  | { readonly kind: "unknown" };

/** The folders that a person reads and edits, one for each unit: code and manifest of its newest version. */
export class WorkingCopy {
  readonly #placed: PlacedFiles;
  readonly #wanted: (key: string) => Promise<Wanted>;

  constructor(placed: PlacedFiles, wanted: (key: string) => Promise<Wanted>) {
    this.#placed = placed;
    this.#wanted = wanted;
  }

  /** The change that a person made, if the newest version does not have it. */
  async edited(place: UnitPlace): Promise<UnitEdit | undefined> {
    let last: UnitEdit | undefined;
    for (let round = 0; round < MAX_ROUNDS; round += 1) {
      const edit = toEditByPerson(await this.#look(place));
      // A second look: while another process writes versions, the parts of one look may not belong together.
      if (edit === undefined || isDeepStrictEqual(edit, last)) return edit;
      last = edit;
    }
    return last;
  }

  /** Writes the newest version into the folder, or removes a removed unit's files. What a person has changed stays. */
  async place(place: UnitPlace): Promise<void> {
    for (let round = 0; round < MAX_ROUNDS; round += 1) if (await this.#placeOnce(place)) return;
  }

  async #placeOnce(place: UnitPlace): Promise<boolean> {
    const look = await this.#look(place);
    if (look.wanted.kind === "free" || look.wanted.kind === "unknown") return true;
    await settleHeld(place, look.isOurs);
    if (look.saysWanted && look.isAsPlaced) return true;
    if (look.saysWanted) await this.#placed.during(place.key, [], async () => digestsOf(look.found));
    else if (toEditByPerson(look) === undefined) await this.#write(place, look);
    else return this.#leave(place, look);
    return false;
  }

  /** Files beside a change of a removed unit are the person's too. */
  async #leave({ key }: UnitPlace, { wanted }: Look): Promise<true> {
    if (wanted.kind === "nothing") await this.#placed.during(key, [], async () => []);
    return true;
  }

  async #write(place: UnitPlace, { found, wanted, isOurs }: Look): Promise<void> {
    const texts = textsOf(wanted);
    const digests = [...texts].map(([name, text]) => digestOf(name, text));
    if (texts.size > 0) await mkdir(place.folder, { recursive: true, mode: 0o700 });
    await this.#placed.during(place.key, digests, async () => {
      for (const [name, text] of texts) await replaceOurs(place, name, text, isOurs);
      for (const { name } of found.files) if (!texts.has(name)) await replaceOurs(place, name, undefined, isOurs);
      return digests;
    });
    if (texts.size === 0) await removeIfEmpty(place.folder);
  }

  async #look({ key, folder }: UnitPlace): Promise<Look> {
    const wanted = await this.#wanted(key);
    const found = await readUnitFolder(folder);
    const { placed, pending } = wanted.kind === "free" ? { placed: NONE, pending: NONE } : this.#placed.read(key);
    const targets = new Set([...textsOf(wanted)].map(([name, text]) => digestOf(name, text)));
    const present = new Set(digestsOf(found));
    return {
      wanted,
      found,
      isOurs: (digest) => placed.has(digest) || pending.has(digest) || targets.has(digest),
      saysWanted: saysWanted(found, wanted),
      isAsPlaced: isDeepStrictEqual(present, placed),
      isWhole: pending.size > 0 || found.files.length >= placed.size,
      wasPlaced: placed.size > 0,
    };
  }
}

const NONE: ReadonlySet<string> = new Set();

interface Look {
  readonly wanted: Wanted;
  readonly found: FoundFiles;
  readonly isOurs: (digest: string) => boolean;
  /** The files say what is wanted, in whatever words. */
  readonly saysWanted: boolean;
  /** The files are those that were written last. */
  readonly isAsPlaced: boolean;
  /** No file that was written is missing, except while files are written. */
  readonly isWhole: boolean;
  readonly wasPlaced: boolean;
}

function toEditByPerson({ wanted, found, ...look }: Look): UnitEdit | undefined {
  if (found.problem) return { kind: "invalid", problem: found.problem };
  const isOurs = found.files.every(({ digest }) => look.isOurs(digest));
  if (look.saysWanted || (isOurs && (look.isWhole || wanted.kind === "nothing"))) return undefined;
  if (found.files.length > 0) return toEdit(textsIn(found));
  return look.wasPlaced ? { kind: "removed" } : undefined;
}

function saysWanted(found: FoundFiles, wanted: Wanted): boolean {
  if (found.problem) return false;
  if (wanted.kind !== "spec") return wanted.kind === "nothing" && found.files.length === 0;
  const edit = found.files.length > 0 ? toEdit(textsIn(found)) : undefined;
  return edit?.kind === "changed" && isSameSpec(edit.spec, wanted.spec);
}

function textsOf(wanted: Wanted): UnitTexts {
  return wanted.kind === "spec" ? toTexts(wanted.spec) : new Map();
}

function textsIn(found: FoundFiles): UnitTexts {
  return new Map(found.files.map(({ name, text }) => [name, text]));
}

function digestsOf({ files }: FoundFiles): readonly string[] {
  return files.map(({ digest }) => digest);
}
