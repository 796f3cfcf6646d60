import { createHash } from "node:crypto";
import { mkdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import * as z from "zod";
import { fileError, ifPresent } from "../files/file-error.ts";
import { parseJson } from "../files/parse-json.ts";
import { replaceFile } from "../files/replace-file.ts";

const schema = z.object({ layer: z.string().regex(/^[a-z0-9]{20}$/), bytes: z.number().nonnegative(), entries: z.number().nonnegative() });

export type KnownLayer = Readonly<z.output<typeof schema>>;

/**
 * Which frozen layer holds the files of which tar, so that the images of an owner share layers: `templates/known/<digest>`. Of each owner by
 * itself, since whoever knows a digest need not have what it is of. An entry may name a layer that is gone, or that a power cut has left
 * in part; whoever uses it finds out. Losing an entry costs a second copy, and nothing else.
 */
export class KnownLayers {
  readonly #directory: string;
  readonly #owner: string;

  constructor(home: string, owner: string) {
    this.#directory = join(home, "templates", "known");
    this.#owner = owner;
  }

  async find(diffId: string): Promise<KnownLayer | undefined> {
    const path = this.#path(diffId);
    const text = await ifPresent(path, readFile(path, "utf8"));
    return text === undefined ? undefined : schema.safeParse(parseJson(text)).data;
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

  /** A digest comes from an image, and may be any text. */
  #path(diffId: string): string {
    return join(this.#directory, createHash("sha256").update(`${this.#owner}\n${diffId}`).digest("hex"));
  }
}
