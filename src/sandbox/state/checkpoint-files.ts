import { randomInt } from "node:crypto";
import { mkdir, readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import * as z from "zod";
import { mapLimit } from "../../async/map-limit.ts";
import { BelljarError } from "../../errors.ts";
import { fileError, ifPresent } from "../../files/file-error.ts";
import { NumberedFile } from "../../files/numbered-file.ts";
import { parseJson } from "../../files/parse-json.ts";
import { readNow } from "../../files/read-now.ts";
import { createFile } from "../../files/replace-file.ts";
import type { Head } from "./link-time-line.ts";
import { parseCheckpoint, type StoredCheckpoint } from "./stored-checkpoint.ts";

const ID = /^[a-z0-9]{8}$/;
const FILE = /^([a-z0-9]{8})\.json$/;
const PARALLEL = 16;
/** Whoever makes more has a loop that forgets to remove them. */
const CHECKPOINTS_MAX = 1_000;
const REMEMBERED_MAX = 10_000;

const headSchema = z.object({ version: z.literal(1), head: z.string().optional() });

/** Each change makes a new one, so that each begins a line. */
type HeadFile = Omit<z.output<typeof headSchema>, "version">;

const NO_HEAD: HeadFile = {};

/**
 * The checkpoints of sandboxes: `sandboxes/<id>/checkpoints/<checkpoint>.json`, each written once, and `time-line.<number>.json`, the point
 * where its present line began. Nothing is flushed: a power cut may lose a checkpoint, and the file that it leaves empty counts as none.
 */
export class CheckpointFiles {
  readonly #folder: (id: string) => string;
  readonly #report: (problem: string) => void;
  /** By path. A checkpoint never changes, and every call may ask for all of them. */
  readonly #known = new Map<string, StoredCheckpoint>();

  constructor(folder: (id: string) => string, report: (problem: string) => void) {
    this.#folder = folder;
    this.#report = report;
  }

  /** Rejects with `QUOTA_EXCEEDED` if the sandbox has too many. */
  async assertRoom(sandbox: string): Promise<void> {
    const { length } = await this.#ids(sandbox);
    if (length < CHECKPOINTS_MAX) return;
    throw new BelljarError("QUOTA_EXCEEDED", `Sandbox ${sandbox} has ${length} checkpoints, and none has more: remove some of them`);
  }

  async add(sandbox: string, checkpoint: StoredCheckpoint): Promise<void> {
    const path = this.#path(sandbox, checkpoint.id);
    try {
      await mkdir(this.#checkpoints(sandbox), { recursive: true, mode: 0o700 });
      if (await createFile(path, JSON.stringify(checkpoint))) return;
    } catch (cause) {
      throw fileError(path, cause);
    }
    throw new BelljarError("RUNTIME_FAILED", `Sandbox ${sandbox} has a checkpoint ${checkpoint.id} already: try again`);
  }

  /** For the next checkpoint: greater than that of each other one. */
  async nextOrder(sandbox: string): Promise<number> {
    return ((await this.list(sandbox)).at(-1)?.order ?? 0) + 1;
  }

  /** The oldest first. */
  async list(sandbox: string): Promise<readonly StoredCheckpoint[]> {
    const found = await mapLimit(await this.#ids(sandbox), PARALLEL, (id) => this.#listed(sandbox, id));
    return found.filter((one) => one !== undefined).toSorted(byAge);
  }

  /** Undefined if there is none, and for a file that cannot be read, which is reported. */
  async find(sandbox: string, id: string): Promise<StoredCheckpoint | undefined> {
    const found = await this.#read(sandbox, id);
    if (found !== "unknown") return found;
    this.#report(`Checkpoint ${id} of sandbox ${sandbox} is left out: ${this.#path(sandbox, id)} was written by another release`);
    return undefined;
  }

  async #listed(sandbox: string, id: string): Promise<StoredCheckpoint | undefined> {
    const path = this.#path(sandbox, id);
    const checkpoint = this.#known.get(path) ?? (await this.find(sandbox, id));
    if (this.#known.size >= REMEMBERED_MAX) this.#known.clear();
    if (checkpoint) this.#known.set(path, checkpoint);
    return checkpoint;
  }

  /** Whether there is such a checkpoint, even one that another release has written. */
  async has(sandbox: string, id: string): Promise<boolean> {
    return (await this.#read(sandbox, id)) !== undefined;
  }

  /** Whether there was one. */
  async remove(sandbox: string, id: string): Promise<boolean> {
    const path = this.#path(sandbox, id);
    this.#known.delete(path);
    const isRemoved = await ifPresent(
      path,
      rm(path).then(() => true),
    );
    return isRemoved === true;
  }

  async removeAll(sandbox: string): Promise<void> {
    const folder = this.#checkpoints(sandbox);
    await ifPresent(folder, rm(folder, { recursive: true, force: true }));
  }

  /** Where the present line of the sandbox began: at a checkpoint that was asked for, or at what it was put back to. */
  async head(sandbox: string): Promise<Head> {
    const { number, value } = await this.#head(sandbox).read(NO_HEAD);
    return { point: value.head, line: number };
  }

  /** Begins another line, even at the same point. */
  async setHead(sandbox: string, head: string): Promise<void> {
    await this.#head(sandbox).change(NO_HEAD, () => ({ head }));
  }

  async #read(sandbox: string, id: string): Promise<StoredCheckpoint | "unknown" | undefined> {
    if (!ID.test(id)) return undefined;
    const path = this.#path(sandbox, id);
    const text = readNow(path);
    return text === undefined ? undefined : parseCheckpoint(text);
  }

  async #ids(sandbox: string): Promise<readonly string[]> {
    const folder = this.#checkpoints(sandbox);
    const names = (await ifPresent(folder, readdir(folder))) ?? [];
    return names.flatMap((name) => FILE.exec(name)?.[1] ?? []);
  }

  #checkpoints(sandbox: string): string {
    return join(this.#folder(sandbox), "checkpoints");
  }

  #path(sandbox: string, id: string): string {
    return join(this.#checkpoints(sandbox), `${id}.json`);
  }

  #head(sandbox: string): NumberedFile<HeadFile> {
    return new NumberedFile({
      folder: this.#folder(sandbox),
      name: "time-line",
      title: `the time line of sandbox ${sandbox}`,
      serialise: (value) => JSON.stringify({ version: 1, ...value }),
      parse: (text) => headSchema.safeParse(parseJson(text)).data ?? NO_HEAD,
    });
  }
}

export function createCheckpointId(): string {
  return Array.from({ length: 8 }, () => randomInt(36).toString(36)).join("");
}

function byAge(one: StoredCheckpoint, other: StoredCheckpoint): number {
  if (one.order !== other.order) return (one.order ?? -1) - (other.order ?? -1);
  return one.createdAt.getTime() - other.createdAt.getTime() || (one.id < other.id ? -1 : 1);
}
