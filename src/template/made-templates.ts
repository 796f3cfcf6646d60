import { join } from "node:path";
import { BelljarError } from "../errors.ts";
import { BARE_BASE } from "../runtime/runtime.ts";
import { quotasOf } from "../sandbox/grants.ts";
import type { LocalSandboxes } from "../sandbox/local-sandboxes-options.ts";
import type { Runtimes } from "../sandbox/runtimes.ts";
import { createSandboxId } from "../sandbox/sandbox-id.ts";
import type { Principal, Quotas } from "../sandbox/sandbox.ts";
import type { ClaimRoom } from "../sandbox/state/claim-room.ts";
import { needStates } from "../sandbox/state/state-errors.ts";
import { templateUser } from "../sandbox/template-source.ts";
import { findFolders } from "./find-home.ts";
import { type TakenConfig, takeConfig } from "./image-config.ts";
import { writePlatform } from "./oci/platform.ts";
import type { OciImage } from "./oci/oci-image.ts";
import { openImage, parsePlatform } from "./open-image.ts";
import { openRegistry, type RegistryParts } from "./open-registry.ts";
import { KnownLayers } from "./known-layers.ts";
import { findGranted } from "./find-granted.ts";
import { newestFirst, type StoredTemplates } from "./stored-templates.ts";
import { openTemplateRoom } from "./template-files.ts";
import { type TemplateRecord, toDetail, toSource } from "./template-record.ts";
import type { Templates } from "./templates.ts";
import { unpackImage } from "./unpack-image.ts";
import { type TemplateDetail, type TemplateOptions, templateOptionsSchema } from "./wire/template-schema.ts";

/** What images lie on. */
const BARE = BARE_BASE.template;
/** The sandbox in which an image is tried, should this process die. */
const TRIED = { network: "none", timeoutMs: 60_000, onDeadline: "kill", bestEffort: true, ephemeral: true } as const;

export interface MadeTemplatesOptions {
  readonly home: string;
  readonly stored: StoredTemplates;
  readonly runtimes: Runtimes;
  readonly sandboxes: Pick<LocalSandboxes, "create" | "holdForTemplate" | "networkOf">;
  /** Of the files of one template. */
  readonly maxBytes: number;
  /** Absent: images come from the host alone. */
  readonly registry?: RegistryParts;
  /** For a principal whose token names none. Default: nothing is counted. */
  readonly quotas?: Quotas;
  /** Told, in one sentence, what a person should know though no call fails. */
  readonly report: (problem: string) => void;
}

type Making = Pick<
  TemplateRecord,
  "source" | "runtime" | "base" | "layers" | "parts" | "bytes" | "env" | "user" | "start" | "home" | "cwd" | "command" | "tookIn"
>;

interface Wish {
  readonly principal: Principal;
  readonly id: string;
  readonly options: TemplateOptions;
  readonly signal: AbortSignal;
}

/** Makes and removes the templates of a home. */
export class MadeTemplates implements Templates {
  readonly #options: MadeTemplatesOptions;
  readonly #room: ClaimRoom;

  constructor(options: MadeTemplatesOptions) {
    this.#options = options;
    this.#room = openTemplateRoom(options.home, options.stored.files);
  }

  async list(principal: Principal): Promise<readonly TemplateDetail[]> {
    const { stored } = this.#options;
    return (await stored.records(principal)).map((record) => toDetail(record, stored.files.isShared(record.id)));
  }

  async info(principal: Principal, name: string): Promise<TemplateDetail> {
    const { stored } = this.#options;
    const record = await stored.record(principal, name);
    if (record) return toDetail(record, stored.files.isShared(record.id));
    throw noTemplate(name);
  }

  async make(principal: Principal, options: TemplateOptions, signal: AbortSignal): Promise<TemplateDetail> {
    const wish = { principal, id: createSandboxId(), options: parseOptions(options), signal };
    const { files } = this.#options.stored;
    await this.#room.claim(principal, { id: wish.id, owner: principal.id, name: options.name });
    try {
      const record = await this.#toRecord(wish);
      await this.#keep(principal, record);
      await this.#replaceEarlier(record).catch((cause: unknown) => this.#options.report(notReplaced(record, cause)));
      return toDetail(record, false);
    } catch (cause) {
      await files.forget(wish.id);
      throw cause;
    }
  }

  /** If there is no room for it, nothing is left of it. */
  async #keep(principal: Principal, record: TemplateRecord): Promise<void> {
    try {
      await this.#assertRoom(principal, record);
      await this.#options.stored.files.commit(record);
    } catch (cause) {
      await this.#letGo(record).catch(() => undefined); // a sweep does
      throw cause;
    }
  }

  /** An earlier one of the name may be left by a process that died before it replaced it: it goes first, and does not come back. */
  async remove(principal: Principal, name: string): Promise<void> {
    const found = await this.#own(principal, name);
    let isRemoved = false;
    for (const record of found.toReversed()) isRemoved = (await this.#discard(record)) || isRemoved;
    if (!isRemoved) throw noTemplate(name);
  }

  async share(principal: Principal, name: string, isShared: boolean): Promise<TemplateDetail> {
    if (principal.grants && !principal.grants.sharesTemplates)
      throw new BelljarError("FORBIDDEN", "This token may share no template: it needs the scope template-share");
    const found = await this.#own(principal, name);
    const [newest] = found;
    if (!newest) throw noTemplate(name);
    for (const { id } of isShared ? [newest] : found) await this.#options.stored.files.share(id, isShared);
    return toDetail(newest, isShared);
  }

  async #toRecord(wish: Wish): Promise<TemplateRecord> {
    const { id, principal, options } = wish;
    const { name, description, start } = options;
    const making = options.image === undefined ? await this.#fromSnapshot(wish) : await this.#fromImage(wish, options.image);
    return {
      version: 1,
      id,
      name,
      owner: principal.id,
      createdAt: await this.#now(principal, name),
      ...making,
      ...(description !== undefined && { description }),
      ...(start && { start }),
    };
  }

  /** Later than all others of the name, also if the clock was set back. */
  async #now({ id }: Principal, name: string): Promise<Date> {
    const others = (await this.#options.stored.files.list()).filter((record) => record.owner === id && record.name === name);
    return new Date(Math.max(Date.now(), ...others.map(({ createdAt }) => createdAt.getTime() + 1)));
  }

  async #fromSnapshot({ id, principal, options, signal }: Wish): Promise<Making> {
    const held = await this.#options.sandboxes.holdForTemplate(principal, options.snapshot ?? "", templateUser({ id }), signal);
    const { env, home, cwd } = held.inside;
    const { runtime, base, layers, user, start, tookIn } = held;
    const source = { kind: "snapshot", id: held.id } as const;
    const optional = { ...(user !== undefined && { user }), ...(start && { start }), ...(tookIn !== undefined && { tookIn }) };
    return { source, runtime, base, layers, bytes: 0, env, home, cwd, ...optional };
  }

  async #fromImage(wish: Wish, path: string): Promise<Making> {
    const { principal, id, signal } = wish;
    const runtime = this.#options.runtimes.choose(principal);
    const states = needStates(runtime);
    const { home, maxBytes } = this.#options;
    await using image = await this.#open(wish, path);
    const taken = takeConfig(image.config);
    const user = templateUser({ id });
    const held: string[] = [];
    try {
      const parts = { states, known: new KnownLayers(home, principal.id), maxBytes, user, signal };
      const unpacked = await unpackImage(image, parts, (layer) => void held.push(layer));
      const source = { kind: "image", from: path, digest: image.digest, platform: writePlatform(image.config.platform) } as const;
      return await this.#try(wish, { source, runtime: runtime.name, base: BARE, ...unpacked }, taken);
    } catch (cause) {
      await states.letGo(held, user).catch(() => undefined); // a sweep does
      throw cause;
    }
  }

  async #open({ principal, options, signal }: Wish, image: string): Promise<OciImage> {
    const { home, maxBytes, sandboxes, registry } = this.#options;
    const platform = parsePlatform(options.platform);
    if (image.startsWith("/")) {
      const path = await findGranted(image, principal);
      return openImage(path, { platform, scratch: join(home, "templates"), maxBytes }, signal);
    }
    if (!registry) throw new BelljarError("NOT_SUPPORTED", "These templates were opened without registries: name a layout or an archive");
    const state = await sandboxes.networkOf(principal, options.network);
    return openRegistry(registry, { reference: image, owner: principal.id, state, platform }, signal);
  }

  /** An image that cannot be started is no template, and only a sandbox can say where its folders are. */
  async #try(
    { principal, id, options, signal }: Wish,
    making: Omit<Making, "env">,
    { env, user, workingDir, command }: TakenConfig,
  ): Promise<Making> {
    const given = { ...making, env, user, ...(command && { command }) };
    const source = toSource({ version: 1, id, name: options.name, owner: principal.id, createdAt: new Date(), ...given });
    return this.#options.stored.whileTried(principal, { ...source, home: "/", cwd: "/" }, async () => {
      const sandbox = await this.#options.sandboxes.create(principal, { ...TRIED, template: id }, signal);
      try {
        return { ...given, ...(await findFolders(sandbox, { user, workingDir }, signal)) };
      } finally {
        await sandbox.kill();
      }
    });
  }

  /** One that takes the place of another one is counted in its place. */
  async #assertRoom(principal: Principal, { bytes, name }: TemplateRecord): Promise<void> {
    const { templateBytes: most } = quotasOf(principal, this.#options.quotas);
    if (most === undefined) return;
    const own = (await this.#options.stored.files.list()).filter((one) => one.owner === principal.id && one.name !== name);
    const used = own.reduce((sum, one) => sum + one.bytes, 0);
    if (used + bytes <= most) return;
    throw new BelljarError(
      "QUOTA_EXCEEDED",
      `The quota of ${most} bytes of templates has no room for these ${bytes}, beside the ${used} of others: remove one with \`belljar template remove\``,
    );
  }

  /** The newest first, which is the one that counts. Rejects if there is none. */
  async #own({ id: owner }: Principal, name: string): Promise<readonly TemplateRecord[]> {
    const found = (await this.#options.stored.files.list()).filter((record) => record.owner === owner && record.name === name);
    if (found.length > 0) return found.toSorted(newestFirst);
    throw noTemplate(name);
  }

  /** Of two that were made at once the later one stays: whoever looks takes the newest. */
  async #replaceEarlier({ id, owner, name, createdAt }: TemplateRecord): Promise<void> {
    const { files } = this.#options.stored;
    const earlier = (await files.list()).filter(
      (one) => one.owner === owner && one.name === name && one.id !== id && one.createdAt < createdAt,
    );
    for (const one of earlier) await this.#discard(one);
  }

  /** Whether it was there. */
  async #discard(record: TemplateRecord): Promise<boolean> {
    const { files } = this.#options.stored;
    if (!(await files.retract(record.id))) return false;
    await this.#letGo(record);
    await files.forget(record.id);
    return true;
  }

  async #letGo({ id, runtime, layers, parts = [] }: TemplateRecord): Promise<void> {
    const { runtimes } = this.#options;
    await runtimes.of({ runtime })?.layers.states?.letGo([...layers, ...parts], templateUser({ id }));
  }
}

function parseOptions(options: TemplateOptions): TemplateOptions {
  const parsed = templateOptionsSchema.safeParse(options);
  if (parsed.success) return parsed.data;
  const { path = [], message = "" } = parsed.error.issues[0] ?? {};
  throw new BelljarError("ARGUMENTS_INVALID", `The ${path.join(".") || "request"} of a template ${message}`);
}

function noTemplate(name: string): BelljarError {
  return new BelljarError(
    "TEMPLATE_NOT_FOUND",
    `No template ${JSON.stringify(name.slice(0, 63))} of yours: list them with \`belljar template list\``,
  );
}

function notReplaced({ name }: TemplateRecord, cause: unknown): string {
  return `An earlier template "${name}" cannot be removed yet: ${String(cause)}`;
}
