import { createHash } from "node:crypto";
import { mkdirSync } from "node:fs";
import { readlink, unlink } from "node:fs/promises";
import { join } from "node:path";
import { fileError, ifPresent } from "../files/file-error.ts";
import { highest, listNumbers, placeLink } from "../files/numbered-links.ts";

/** Which sandbox is the default one of an (owner, name); `number` counts up each time it is made anew. */
export interface Claim {
  readonly number: number;
  readonly id: string;
}

/**
 * `<home>/defaults/<hash of owner and name>/<number>` is a link whose text is the sandbox's id; the highest number holds.
 * A link appears whole and only once, so of several processes that make number n one wins; and a late one, whose number was
 * taken and removed meanwhile, sees a higher one beside its own and gives way. No lock, and a killed process leaves nothing half done.
 */
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

  async current(owner: string, name: string): Promise<Claim | undefined> {
    const folder = this.#folder(owner, name);
    const number = highest(await listNumbers(folder));
    if (number === 0) return undefined;
    const path = join(folder, String(number));
    const id = await ifPresent(path, readlink(path));
    return id === undefined ? this.current(owner, name) : { number, id };
  }

  /** Whether the claim holds; false when somebody else's does. */
  async take(owner: string, name: string, claim: Claim): Promise<boolean> {
    const folder = this.#folder(owner, name);
    if (!(await placeLink(folder, claim.number, claim.id))) return false;
    const numbers = await listNumbers(folder);
    const holds = highest(numbers) === claim.number;
    const outdated = holds ? numbers.filter((number) => number < claim.number) : [claim.number];
    await Promise.all(outdated.map((number) => removeLink(join(folder, String(number)))));
    return holds;
  }

  #folder(owner: string, name: string): string {
    return join(this.#directory, createHash("sha256").update(`${owner}\0${name}`).digest("hex"));
  }
}

async function removeLink(path: string): Promise<void> {
  await ifPresent(path, unlink(path));
}
