import { BelljarError } from "../../errors.ts";
import type { Volume } from "./volume.ts";

/** A count is as good as new for so long, with what was uploaded since. */
const FRESH_MS = 5_000;
const REMEMBERED_MAX = 1_000;

interface Count {
  /** When it began. Absent: it waits for the one before it. */
  atMs: number | undefined;
  bytes: Promise<number>;
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
  /** Of each volume one count runs at most, and one waits, however often files are removed meanwhile. */
  readonly #running = new Map<string, Promise<number>>();

  constructor(measure: (volume: Volume) => Promise<number>) {
    this.#measure = measure;
  }

  /** Rejects with `DISK_FULL` if there is no room. */
  async room(volume: Volume): Promise<void> {
    await this.take(volume, 0);
  }

  /** Counts what is to be uploaded, before it is written: of several at once, none gets room that another has. Rejects with `DISK_FULL`. */
  async take(volume: Volume, bytes: number): Promise<void> {
    const count = this.#count(volume);
    const left = volume.quotaBytes - (await count.bytes) - count.added;
    if (left > 0 && bytes <= left) {
      count.added += bytes;
      return;
    }
    throw new BelljarError(
      "DISK_FULL",
      `The volume ${JSON.stringify(volume.name)} has no room for it in its ${volume.quotaBytes} bytes: remove files of it`,
    );
  }

  /** Files were removed. A count that has not begun does not have them. */
  forget({ id }: Pick<Volume, "id">): void {
    if (this.#counts.get(id)?.atMs !== undefined) this.#counts.delete(id);
  }

  #count(volume: Volume): Count {
    const known = this.#counts.get(volume.id);
    if (known && (known.atMs === undefined || performance.now() - known.atMs < FRESH_MS)) return known;
    const count = this.#begin(volume);
    count.bytes.catch(() => this.#counts.get(volume.id) === count && this.#counts.delete(volume.id));
    this.#counts.delete(volume.id);
    this.#counts.set(volume.id, count);
    const [oldest] = this.#counts.keys();
    if (this.#counts.size > REMEMBERED_MAX && oldest !== undefined) this.#counts.delete(oldest);
    return count;
  }

  #begin(volume: Volume): Count {
    const before = this.#running.get(volume.id);
    const count: Count = { atMs: undefined, bytes: Promise.resolve(0), added: 0 };
    const run = (): Promise<number> => {
      count.atMs = performance.now();
      const running = this.#measure(volume).finally(() => {
        if (this.#running.get(volume.id) === running) this.#running.delete(volume.id);
      });
      this.#running.set(volume.id, running);
      return running;
    };
    count.bytes = before ? before.then(run, run) : run();
    return count;
  }
}
