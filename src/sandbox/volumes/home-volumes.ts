import { BelljarError } from "../../errors.ts";
import type { Runtime } from "../../runtime/contract/runtime.ts";
import type { Mount } from "../../runtime/contract/sandbox-spec.ts";
import type { SharedFolders } from "../../runtime/contract/shared-folders.ts";
import type { Principal } from "../principal.ts";
import { mayReach } from "../reach.ts";
import type { SandboxRecord } from "../sandbox-record.ts";
import type { Volume } from "./volume.ts";
import { VolumeFiles } from "./volume-files.ts";
import { createVolumeId, VolumeStore } from "./volume-store.ts";
import { VolumeUsage } from "./volume-usage.ts";
import type { Volumes, VolumeWish } from "./volumes.ts";

/** Of one owner. */
const VOLUMES_MAX = 100;
const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$/;

export interface HomeVolumesOptions {
  readonly home: string;
  /** Whose sandboxes the principal may have, by the configuration. */
  readonly choose: (principal: Principal) => Runtime;
  readonly runtimes: ReadonlyMap<string, Runtime>;
  /** Of all sandboxes of the home that have not ended, by their records. */
  readonly records: () => Promise<readonly Pick<SandboxRecord, "id" | "volumes">[]>;
}

type RecordedVolumes = NonNullable<SandboxRecord["volumes"]>;

/** The volumes of a home, whichever of its processes made them. */
export class HomeVolumes implements Volumes {
  readonly #options: HomeVolumesOptions;
  readonly #store: VolumeStore;
  readonly #usage: VolumeUsage;

  constructor(options: HomeVolumesOptions) {
    this.#options = options;
    this.#store = new VolumeStore(options.home);
    this.#usage = new VolumeUsage((volume) => this.#measure(volume));
  }

  /** In this order: what becomes whole meanwhile counts twice, and not never. */
  async #measure(volume: Volume): Promise<number> {
    const coming = await this.#store.partBytes(volume);
    return coming + (await this.#sharedOf(volume).measure(this.#store.folder(volume)));
  }

  async create(principal: Principal, { name, quotaBytes }: VolumeWish): Promise<Volume> {
    if (!NAME.test(name))
      throw new BelljarError(
        "ARGUMENTS_INVALID",
        "A volume's name has 1 to 63 letters, digits, dots, dashes and underscores, and begins with a letter or a digit",
      );
    const { name: runtime, shared } = this.#options.choose(principal);
    if (!shared) throw sharesNothing(runtime);
    await this.#assertFewer(principal, VOLUMES_MAX);
    const { id: owner, project } = principal;
    const volume: Volume = {
      version: 1,
      id: createVolumeId(owner, name),
      owner,
      ...(project && { project: project.folder }),
      name,
      runtime,
      createdAt: new Date(),
      quotaBytes,
    };
    if (await this.#store.make(volume, shared)) return this.#withinMost(principal, volume);
    throw new BelljarError(
      "VOLUME_NAME_TAKEN",
      `You have a volume named ${JSON.stringify(name)} already: use that, or choose another name`,
    );
  }

  /** Of those that are made at once, in whichever process, the last to be made sees all others: what is one too many goes again. */
  async #withinMost(principal: Principal, volume: Volume): Promise<Volume> {
    try {
      await this.#assertFewer(principal, VOLUMES_MAX + 1);
      return volume;
    } catch (cause) {
      await this.remove(principal, volume.id);
      throw cause;
    }
  }

  async #assertFewer({ id }: Principal, most: number): Promise<void> {
    const own = (await this.#store.list()).filter(({ owner }) => owner === id);
    if (own.length >= most) throw new BelljarError("QUOTA_EXCEEDED", `You can have ${VOLUMES_MAX} volumes: remove one`);
  }

  async list(principal: Principal): Promise<readonly Volume[]> {
    const own = (await this.#store.list()).filter((volume) => mayReach(principal, volume));
    return own.toSorted((one, other) => (one.name < other.name ? -1 : 1));
  }

  async get(principal: Principal, text: string): Promise<Volume> {
    const volume = (await this.#store.find(text)) ?? (await this.#store.findNamed(principal.id, text));
    if (volume && mayReach(principal, volume)) return volume;
    throw notFound(text);
  }

  async getLinked(id: string): Promise<Volume> {
    const volume = await this.#store.find(id);
    if (volume) return volume;
    throw notFound(id);
  }

  /**
   * Whoever makes a sandbox writes its record before it looks for the volume; here the volume is taken away before the records are read. So of
   * two that do both at once, one sees the other.
   */
  async remove(principal: Principal, text: string): Promise<void> {
    const volume = await this.get(principal, text);
    const shared = this.#sharedOf(volume);
    await this.#assertUnused(volume);
    const aside = await this.#store.setAside(volume);
    if (aside === undefined) throw notFound(text);
    try {
      await this.#assertUnused(volume);
    } catch (cause) {
      await this.#store.putBack(volume);
      throw cause;
    }
    await this.#store.erase(aside, shared);
  }

  async files(volume: Volume): Promise<VolumeFiles> {
    const [store, usage, shared] = [this.#store, this.#usage, this.#sharedOf(volume)];
    return new VolumeFiles({
      root: await store.tree(volume),
      shared,
      room: () => usage.room(volume),
      take: (bytes) => usage.take(volume, bytes),
      makeBin: () => store.makeBin(volume),
      removed: () => usage.forget(volume),
      eraseBin: (bin) => store.erase(bin, shared),
    });
  }

  /** What the record of a sandbox says of the volumes that its maker names. Rejects with `VOLUME_NOT_FOUND`. */
  async toRecord(
    principal: Principal,
    wished: readonly { readonly volume: string; readonly path: string }[],
    runtime: Runtime,
  ): Promise<RecordedVolumes> {
    return Promise.all(
      wished.map(async ({ volume: text, path }) => {
        const { id, name, runtime: own } = await this.get(principal, text);
        if (own === runtime.name) return { id, name, path };
        throw new BelljarError(
          "ARGUMENTS_INVALID",
          `The volume ${JSON.stringify(name)} is of the runtime "${own}", and a sandbox of "${runtime.name}" cannot have it`,
        );
      }),
    );
  }

  /** For each run. Rejects with `VOLUME_NOT_FOUND` for one that was removed meanwhile, and with `DISK_FULL` for one that is over its quota. */
  async mountsOf({ volumes = [] }: Pick<SandboxRecord, "volumes">): Promise<readonly Mount[]> {
    return Promise.all(
      volumes.map(async ({ id, path }) => {
        const volume = await this.getLinked(id);
        await this.#usage.room(volume);
        return { folder: this.#store.folder(volume), at: path };
      }),
    );
  }

  /** Ends removals whose process has died. One that a sandbox has got meanwhile is put back. */
  async sweep(now = Date.now()): Promise<void> {
    for (const { aside, volume } of await this.#store.leftAside(now)) {
      if (await this.#userOf(volume)) await this.#store.putBack(volume);
      else await this.#store.erase(aside, this.#sharedOf(volume));
    }
    for (const volume of await this.#store.list())
      for (const bin of await this.#store.leftBins(volume, now)) await this.#store.erase(bin, this.#sharedOf(volume));
  }

  async #assertUnused({ id, name }: Volume): Promise<void> {
    const user = await this.#userOf({ id });
    if (user) throw new BelljarError("VOLUME_IN_USE", `The sandbox ${user.id} has the volume ${JSON.stringify(name)}: kill it first`);
  }

  async #userOf({ id }: Pick<Volume, "id">): Promise<Pick<SandboxRecord, "id"> | undefined> {
    return (await this.#options.records()).find(({ volumes = [] }) => volumes.some((one) => one.id === id));
  }

  #sharedOf({ runtime }: Pick<Volume, "runtime">): SharedFolders {
    const shared = this.#options.runtimes.get(runtime)?.shared;
    if (shared) return shared;
    throw sharesNothing(runtime);
  }
}

function sharesNothing(runtime: string): BelljarError {
  return new BelljarError("NOT_SUPPORTED", `Sandboxes of the runtime "${runtime}" cannot share folders, so there are no volumes for them`);
}

function notFound(text: string): BelljarError {
  return new BelljarError("VOLUME_NOT_FOUND", `You have no volume ${JSON.stringify(text.slice(0, 100))}: list yours`);
}
