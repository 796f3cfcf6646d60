import { randomBytes } from "node:crypto";
import { join } from "node:path";
import * as z from "zod";
import { NumberedFile } from "../../files/numbered-file.ts";
import { parseJson } from "../../files/parse-json.ts";

/** A process that has not written its files after this time was killed. */
const PENDING_MS = 60_000;

const digests = z.array(z.string()).readonly();
const schema = z.strictObject({
  placed: digests,
  pending: z.array(z.strictObject({ id: z.string(), atMs: z.number(), digests })).readonly(),
});

/** What Belljar wrote into a unit's folder: every other content there is a person's. */
type Stored = z.output<typeof schema>;

export interface Placed {
  /** Digests of the files that were written last. */
  readonly placed: ReadonlySet<string>;
  /** Digests of the files that some process writes at this moment. */
  readonly pending: ReadonlySet<string>;
}

const NOTHING: Stored = { placed: [], pending: [] };

/**
 * `<key>/placed.<number>.json`: what Belljar wrote into the folder of each unit, a numbered file. A process says what it will write before
 * it writes, so no other process takes half of that for a person's change.
 */
export class PlacedFiles {
  readonly #folder: string;
  readonly #now: () => number;

  constructor(folder: string, now: () => number = Date.now) {
    this.#folder = folder;
    this.#now = now;
  }

  read(key: string): Placed {
    const { placed, pending } = this.#file(key).readNow(NOTHING).value;
    return { placed: new Set(placed), pending: new Set(this.#living(pending).flatMap((one) => one.digests)) };
  }

  /** Says what will be written, runs the work, and says what was written. A failure of the work leaves it unsaid. */
  async during(key: string, written: readonly string[], work: () => Promise<readonly string[]>): Promise<void> {
    const id = randomBytes(6).toString("hex");
    const mine = { id, atMs: this.#now(), digests: written };
    await this.#file(key).change(NOTHING, ({ placed, pending }) => ({ placed, pending: [...this.#living(pending), mine] }));
    const placed = await work();
    await this.#file(key).change(NOTHING, ({ pending }) => ({ placed, pending: this.#living(pending).filter((one) => one.id !== id) }));
  }

  async remove(key: string): Promise<void> {
    await this.#file(key).remove();
  }

  #living(pending: Stored["pending"]): Stored["pending"] {
    return pending.filter(({ atMs }) => Math.abs(this.#now() - atMs) < PENDING_MS);
  }

  #file(key: string): NumberedFile<Stored> {
    return new NumberedFile({
      folder: join(this.#folder, key),
      name: "placed",
      title: `the files of the tools ${key}`,
      serialise: (stored) => JSON.stringify(stored),
      // Then every file is a person's, unless it is as the newest version.
      parse: (text) => schema.safeParse(parseJson(text)).data ?? NOTHING,
    });
  }
}
