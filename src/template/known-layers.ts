import { createHash } from "node:crypto";
import { mkdir, readdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import * as z from "zod";
import { fileError, ifPresent } from "../files/file-error.ts";
import { parseJson } from "../files/parse-json.ts";
import { replaceFile } from "../files/replace-file.ts";

const schema = z.object({ layer: z.string().regex(/^[a-z0-9]{20}$/), bytes: z.number().nonnegative(), entries: z.number().nonnegative() });

/** What an earlier Belljar has unpacked otherwise is unpacked again. */
const FORMAT = 2;
/** Other names are those of files that are being written. */
const ENTRY = /^[0-9a-f]{64}$/;

export type KnownLayer = Readonly<z.output<typeof schema>>;

/**
 * Which frozen layer holds the files of which tars, so that the images of an owner share layers: `templates/known/<owner>/<digest>`. Of each owner
 * by itself, since whoever knows a digest need not have what it is of. An entry may name a layer that is gone, or that a power cut has left
 * in part; whoever uses it finds out. Losing an entry costs a second copy, and nothing else.
 */
export class KnownLayers {
  readonly #directory: string;

  constructor(home: string, owner: string) {
    this.#directory = join(home, "templates", "known", digestOf(owner));
  }

  async find(diffId: string): Promise<KnownLayer | undefined> {
    return this.#read(this.#path(diffId));
  }

  async note(diffId: string, known: KnownLayer): Promise<void> {
    const path = this.#path(diffId);
    try {
      await mkdir(this.#directory, { recursive: true, mode: 0o700 });
      await replaceFile(path, JSON.stringify(known));
    } catch (cause) {
      throw fileError(path, cause);
    }
  }

  /** Removes the entries of layers that are gone, and those that nobody can read. */
  async prune(isThere: (layer: string) => Promise<boolean>): Promise<void> {
    const names = (await ifPresent(this.#directory, readdir(this.#directory))) ?? [];
    for (const path of names.filter((name) => ENTRY.test(name)).map((name) => join(this.#directory, name))) {
      const known = await this.#read(path);
      if (!known || !(await isThere(known.layer))) await ifPresent(path, rm(path));
    }
  }

  async #read(path: string): Promise<KnownLayer | undefined> {
    const text = await ifPresent(path, readFile(path, "utf8"));
    return text === undefined ? undefined : schema.safeParse(parseJson(text)).data;
  }

  #path(diffId: string): string {
    return join(this.#directory, digestOf(`${FORMAT} ${diffId}`));
  }
}

/** A digest comes from an image, and may be any text. */
function digestOf(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}
