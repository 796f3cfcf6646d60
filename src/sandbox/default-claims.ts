import { createHash } from "node:crypto";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import * as z from "zod";
import { fileError } from "../files/file-error.ts";
import { NumberedFile } from "../files/numbered-file.ts";
import { parseJson } from "../files/parse-json.ts";

/** Which sandbox is the default one of an (owner, name); `number` counts up each time it is made anew. */
export interface Claim {
  readonly number: number;
  readonly id: string;
}

const schema = z.object({ version: z.literal(1), id: z.string() });

/** `<home>/defaults/<hash of owner and name>/sandbox.<number>.json`: a numbered file with the sandbox's id. */
export class DefaultClaims {
  readonly #directory: string;

  constructor(home: string) {
    this.#directory = join(home, "defaults");
    try {
      mkdirSync(this.#directory, { recursive: true, mode: 0o700 });
    } catch (cause) {
      throw fileError(this.#directory, cause);
    }
  }

  async current(owner: string, name: string): Promise<Claim> {
    const { number, value } = await this.#file(owner, name).read("");
    return { number, id: value };
  }

  /** Whether the claim holds; false when somebody else's does. */
  take(owner: string, name: string, { number, id }: Claim): Promise<boolean> {
    return this.#file(owner, name).take({ number, value: id });
  }

  #file(owner: string, name: string): NumberedFile<string> {
    return new NumberedFile({
      folder: join(this.#directory, createHash("sha256").update(`${owner}\0${name}`).digest("hex")),
      name: "sandbox",
      title: `the default sandbox ${JSON.stringify(name)}`,
      serialise: (id) => JSON.stringify({ version: 1, id }),
      // A damaged claim names no sandbox, and the next one takes its place.
      parse: (text) => schema.safeParse(parseJson(text)).data?.id ?? "",
    });
  }
}
