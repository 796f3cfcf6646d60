import { BelljarError } from "../../errors.ts";
import type { Volume } from "./volume.ts";

/** A count is as good as new for so long, with what was uploaded since. */
const FRESH_MS = 5_000;
const REMEMBERED_MAX = 1_000;

interface Count {
  readonly atMs: number;
  readonly bytes: Promise<number>;
  /** Uploaded since. */
  added: number;
}

/**
 * What volumes hold, by counting their files, and for some seconds by adding what was uploaded. A program in a sandbox writes past the quota, for
 * no file system is assumed to have quotas of folders: from the next count on, uploads and new mounts are refused.
 */
export class VolumeUsage {
  readonly #measure: (volume: Volume) => Promise<number>;
  readonly #counts = new Map<string, Count>();

  constructor(measure: (volume: Volume) => Promise<number>) {
    this.#measure = measure;
  }

  /** How many bytes may still be uploaded. Rejects with `DISK_FULL` if there is no room. */
  async room(volume: Volume): Promise<number> {
    const count = this.#count(volume);
    const left = volume.quotaBytes - (await count.bytes) - count.added;
    if (left > 0) return left;
    throw new BelljarError(
      "DISK_FULL",
      `The volume ${JSON.stringify(volume.name)} holds more than its ${volume.quotaBytes} bytes: remove files of it`,
    );
  }

  add({ id }: Pick<Volume, "id">, bytes: number): void {
    const count = this.#counts.get(id);
    if (count) count.added += bytes;
  }

  /** Files were removed. */
  forget({ id }: Pick<Volume, "id">): void {
    this.#counts.delete(id);
  }

  #count(volume: Volume): Count {
    const known = this.#counts.get(volume.id);
    if (known && performance.now() - known.atMs < FRESH_MS) return known;
    const bytes = this.#measure(volume);
    const count = { atMs: performance.now(), bytes, added: 0 };
    bytes.catch(() => this.#counts.get(volume.id) === count && this.#counts.delete(volume.id));
    this.#counts.delete(volume.id);
    this.#counts.set(volume.id, count);
    const [oldest] = this.#counts.keys();
    if (this.#counts.size > REMEMBERED_MAX && oldest !== undefined) this.#counts.delete(oldest);
    return count;
  }
}
