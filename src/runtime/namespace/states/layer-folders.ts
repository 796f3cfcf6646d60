import { randomInt } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir, readdir, rename, rm, rmdir, stat, unlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { mapLimit } from "../../../async/map-limit.ts";
import { BelljarError } from "../../../errors.ts";
import { errnoOf, fileError, ifPresent } from "../../../files/file-error.ts";
import { parseJson } from "../../../files/parse-json.ts";
import { readNow } from "../../../files/read-now.ts";
import { createFile, flushPath, UNFINISHED } from "../../../files/replace-file.ts";
import type { Run } from "../../contract/run.ts";
import type { LayerFiles } from "../jail-steps.ts";

const FACTS = "layer.json";
const USERS = "users";
/** As `FLUSHED_FILE` of `native/jail/layers.h` says, which marks layers too. */
const FLUSHED = "flushed";
const PARALLEL = 8;
/** What `FROZEN_TREE` of `native/jail/layers.h` says. */
const TREE = "tree";
const KINDS = ["home", "btrfs", "held"] as const;
const REMEMBERED_MAX = 10_000;

/** A frozen layer, as its folder says. It never changes. */
export interface LayerFacts {
  readonly id: string;
  /** Where its files are: in its folder, in a subvolume of the pool, or with the writable layers of a sandbox in memory. */
  readonly kind: (typeof KINDS)[number];
  /** Of kind `held`: that sandbox. */
  readonly sandbox?: string;
  /** The overlays that have files in it. */
  readonly overlays: readonly string[];
  /** Of one that stands for several: one more than theirs, which have 0 (`merge-plan.ts`). */
  readonly tier?: number;
  /** The boot of the machine in which it was copied: after that it is whole only if it has the mark of a flush. */
  readonly boot?: string;
}

/**
 * The frozen layers of a home: `layers/<id>/` with `layer.json`, which is written last, `users/` with an empty file for each user, and the
 * files, unless they lie in the pool. A user is added and removed by one system call, and `users/` can only be removed when it is empty. So
 * a layer is removed once, by whoever takes the last user away, and nobody becomes a user of a layer that is being removed.
 */
export class LayerFolders {
  readonly #folder: string;
  readonly #pool: string;
  readonly #known = new Map<string, LayerFacts>();

  /** `pool`: where the home's pool is mounted, if it has one. */
  constructor(home: string, pool: string) {
    this.#folder = join(home, "layers");
    this.#pool = join(pool, "layers");
  }

  /** Of all layers. */
  get all(): string {
    return this.#folder;
  }

  folder(id: string): string {
    return join(this.#folder, id);
  }

  /** Where the layer's files are, or will be. Of kind `held`: a path that begins where the sandbox's writable layers are. */
  files({ id, kind }: Pick<LayerFacts, "id" | "kind">): string {
    if (kind === "held") return `/${raisedName(id)}`;
    return kind === "btrfs" ? join(this.#pool, id) : join(this.folder(id), TREE);
  }

  /** As a run mounts it. */
  filesOf(layer: LayerFacts): LayerFiles {
    return { files: this.files(layer), overlays: layer.overlays, isHeld: layer.kind === "held" };
  }

  /** Makes the folder of a new layer, which appears together with its first user: without one it would look as if it were being removed. */
  async begin(kind: LayerFacts["kind"], user: string, id = createLayerId()): Promise<Pick<LayerFacts, "id" | "kind">> {
    const fresh = join(this.#folder, UNFINISHED + id);
    try {
      await mkdir(join(fresh, USERS), { recursive: true, mode: 0o700 });
      await writeFile(join(fresh, USERS, user), "", { mode: 0o600 });
      if (kind === "btrfs") await mkdir(this.#pool, { recursive: true, mode: 0o700 });
      await rename(fresh, this.folder(id));
    } catch (cause) {
      throw fileError(this.folder(id), cause);
    }
    return { id, kind };
  }

  /** With `flush`, a power cut leaves these facts, if not the files. */
  async finish(layer: LayerFacts, options: { readonly flush?: boolean } = {}): Promise<void> {
    const path = join(this.folder(layer.id), FACTS);
    try {
      await createFile(path, JSON.stringify({ version: 1, ...layer }), options);
    } catch (cause) {
      throw fileError(path, cause);
    }
  }

  /** Rejects with `SANDBOX_FILES_LOST` for a layer that is gone, or was never finished. */
  async facts(id: string): Promise<LayerFacts> {
    const facts = await this.find(id);
    if (!facts) throw lost(id);
    if (this.#known.size >= REMEMBERED_MAX) this.#known.clear();
    this.#known.set(id, facts);
    return facts;
  }

  /** Undefined for a layer that is gone, or was never finished. */
  async find(id: string): Promise<LayerFacts | undefined> {
    return this.#known.get(id) ?? this.#read(id);
  }

  /** Whether no power cut has left it in part, or taken it away. */
  async isWhole(id: string, boot: string): Promise<boolean> {
    const facts = await this.find(id);
    if (facts?.kind === "btrfs") return existsSync(this.files(facts));
    return facts !== undefined && (facts.boot === undefined || facts.boot === boot || existsSync(join(this.folder(id), FLUSHED)));
  }

  /** For layers whose files are on the disk: so are these layers then, with their marks and users. */
  async flush(ids: readonly string[], boot: string): Promise<void> {
    if (ids.length === 0) return;
    await mapLimit(ids, PARALLEL, async (id) => {
      const folder = this.folder(id);
      if ((await this.facts(id)).boot === boot) await writeFile(join(folder, FLUSHED), "", { mode: 0o600 });
      for (const path of [join(folder, FACTS), join(folder, USERS), folder]) await flushPath(path);
    });
    await flushPath(this.#folder);
  }

  /** Rejects with `SANDBOX_FILES_LOST`. */
  async addUser(id: string, user: string): Promise<void> {
    try {
      await writeFile(join(this.folder(id), USERS, user), "", { mode: 0o600 });
    } catch (cause) {
      throw errnoOf(cause) === "ENOENT" ? lost(id) : fileError(this.folder(id), cause);
    }
  }

  /** True: it was the last user, and the layer's files are the caller's to remove. */
  async removeUser(id: string, user: string): Promise<boolean> {
    const path = join(this.folder(id), USERS, user);
    await ifPresent(path, unlink(path));
    return this.retire(id);
  }

  /** True: nobody uses it, and its files are the caller's to remove. False: somebody does, or it is gone. */
  async retire(id: string): Promise<boolean> {
    const path = join(this.folder(id), USERS);
    try {
      await rmdir(path);
    } catch (cause) {
      const code = errnoOf(cause);
      if (code === "ENOTEMPTY" || code === "EEXIST" || code === "ENOENT") return false;
      throw fileError(path, cause);
    }
    this.#known.delete(id);
    return true;
  }

  /** After its files: nothing of it is left. A flush that began before may put its mark there meanwhile, once. */
  async forget(id: string): Promise<void> {
    try {
      await rm(this.folder(id), { recursive: true, force: true, maxRetries: 3, retryDelay: 10 });
    } catch (cause) {
      throw fileError(this.folder(id), cause);
    }
  }

  async ids(): Promise<readonly string[]> {
    return ((await ifPresent(this.#folder, readdir(this.#folder))) ?? []).filter(isLayerId);
  }

  /** Empty when nobody uses it; undefined when it is being removed, or was. */
  async users(id: string): Promise<readonly string[] | undefined> {
    const path = join(this.folder(id), USERS);
    return ifPresent(path, readdir(path));
  }

  /** When somebody last became its user, or let go of it. */
  async changedAt(id: string): Promise<Date | undefined> {
    const path = join(this.folder(id), USERS);
    return (await ifPresent(path, stat(path)))?.mtime;
  }

  /**
   * A layer that is being removed. One that was never finished has left its files in one of two places: the pool is mounted. What lies with a
   * sandbox in memory was finished, or goes with the sandbox.
   */
  async left(id: string, reachPool: () => Promise<boolean>): Promise<Omit<LayerFacts, "overlays">> {
    const facts = await this.#read(id);
    if (facts) return facts;
    return { id, kind: (await reachPool()) && existsSync(this.files({ id, kind: "btrfs" })) ? "btrfs" : "home" };
  }

  /**
   * A power cut may leave a subvolume whose layer was never on the disk of the home, or is not any more. It gets a folder, as of a layer that
   * is being removed.
   */
  async adoptStrays(): Promise<void> {
    const names = (await ifPresent(this.#pool, readdir(this.#pool))) ?? [];
    for (const id of names.filter((name) => isLayerId(name) && !existsSync(this.folder(name))))
      await mkdir(this.folder(id), { recursive: true, mode: 0o700 });
  }

  /** Undefined for a layer that is gone, or was never finished. */
  async #read(id: string): Promise<LayerFacts | undefined> {
    const path = join(this.folder(id), FACTS);
    const text = readNow(path);
    return text === undefined ? undefined : parseFacts(id, text);
  }

  /** Removes what processes have left that died while they began a layer. */
  async removeUnfinished(before: number): Promise<void> {
    const names = (await ifPresent(this.#folder, readdir(this.#folder))) ?? [];
    for (const name of names.filter((one) => one.startsWith(UNFINISHED))) {
      const path = join(this.#folder, name);
      const found = await ifPresent(path, stat(path));
      if (found && found.mtimeMs < before) await rm(path, { recursive: true, force: true });
    }
  }
}

/** What `FROZEN_PREFIX` of `native/jail/raise.h` says: a layer that was just raised, in the folder of the writable layers. */
export function raisedName(id: string): string {
  return `.frozen-${id}`;
}

/** The name of the sandbox among the users of its layers. */
export function userOf({ id }: Run): string {
  return `sandbox-${id}`;
}

function isLayerId(text: string): boolean {
  return /^[a-z0-9]{20}$/.test(text);
}

export function createLayerId(): string {
  return Array.from({ length: 20 }, () => randomInt(36).toString(36)).join("");
}

function parseFacts(id: string, text: string): LayerFacts | undefined {
  const found = parseJson(text);
  if (typeof found !== "object" || found === null) return undefined;
  const { version, overlays, sandbox, boot, tier } = found as Record<string, unknown>;
  const kind = KINDS.find((one) => one === (found as { kind?: unknown }).kind);
  if (version !== 1 || kind === undefined || !Array.isArray(overlays) || !overlays.every(isOverlayName)) return undefined;
  const facts = { id, kind, overlays, ...(typeof tier === "number" && { tier }) };
  if (kind !== "held") return { ...facts, ...(typeof boot === "string" && { boot }) };
  return typeof sandbox === "string" && isLayerId(sandbox) ? { ...facts, sandbox } : undefined;
}

function isOverlayName(name: unknown): name is string {
  return typeof name === "string" && /^[a-z0-9-]{1,32}$/.test(name);
}

function lost(id: string): BelljarError {
  return new BelljarError("SANDBOX_FILES_LOST", `The frozen layer ${id} is not in this home any more: use another snapshot or checkpoint`);
}
