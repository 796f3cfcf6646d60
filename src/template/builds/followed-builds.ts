import { BelljarError } from "../../errors.ts";
import { printableText } from "../../files/printable.ts";
import { createSandboxId } from "../../sandbox/sandbox-id.ts";
import type { Principal } from "../../sandbox/sandbox.ts";
import { lookUntil } from "../../sandbox/state/look-until.ts";
import { markProcess } from "../../sandbox/workspace/apply/process-mark.ts";
import type { Begun } from "../making/making.ts";
import { parseOptions } from "../parse-options.ts";
import type { BuildName, Builds, LogWish } from "../templates.ts";
import type { BuildInfo, BuildLogPage } from "../wire/build-schema.ts";
import type { TemplateOptions } from "../wire/template-schema.ts";
import type { BuildFiles } from "./build-files.ts";
import { type BuildRecord, toBuild } from "./build-record.ts";
import { LogFile, readLog } from "./log-file.ts";

/** Of one owner at once. */
const GOING_MAX = 8;
/** Of one owner, with those that go on. Beyond them the oldest go. */
const KEPT_MAX = 32;
const MESSAGE_MAX = 4_000;

export interface FollowedBuildsOptions {
  readonly files: BuildFiles;
  readonly make: (begun: Begun) => Promise<unknown>;
  readonly report: (problem: string) => void;
}

interface Going {
  readonly stop: AbortController;
  readonly done: Promise<void>;
}

/** Builds that nobody waits for: they go on in this process, and every process of the home can tell what they have come to. */
export class FollowedBuilds implements Builds, AsyncDisposable {
  readonly #options: FollowedBuildsOptions;
  readonly #going = new Map<string, Going>();

  constructor(options: FollowedBuildsOptions) {
    this.#options = options;
  }

  async begin(principal: Principal, options: TemplateOptions): Promise<BuildInfo> {
    const { files } = this.#options;
    const parsed = parseOptions(options, principal);
    const by = (await markProcess()) ?? "";
    const record: BuildRecord = { version: 1, id: createSandboxId(), name: parsed.name, owner: principal.id, by, startedAt: new Date() };
    await files.begin(record);
    try {
      await this.#makeRoom(principal);
    } catch (cause) {
      await files.forget(record.id);
      throw cause;
    }
    const stop = new AbortController();
    const done = this.#follow({ principal, id: record.id, options: parsed, signal: stop.signal }, record);
    this.#going.set(record.id, { stop, done });
    return toBuild(record);
  }

  async info(principal: Principal, build: BuildName): Promise<BuildInfo> {
    return toBuild(await this.#find(principal, build));
  }

  // eslint-disable-next-line max-params -- the contract's
  async log(principal: Principal, build: BuildName, { offset, waitMs }: LogWish, signal: AbortSignal): Promise<BuildLogPage> {
    const { files } = this.#options;
    const { id } = await this.#find(principal, build);
    const look = async (): Promise<BuildLogPage> => {
      const { state } = await this.info(principal, build); // before the log, which is whole once the build has ended
      return { ...(await readLog(files.log(id), offset)), state };
    };
    const hasNews = async (): Promise<BuildLogPage | undefined> => {
      const page = await look();
      return page.text !== "" || page.state !== "building" ? page : undefined;
    };
    return (await lookUntil(files.folder(id), hasNews, { ms: waitMs, signal })) ?? look();
  }

  async stop(principal: Principal, build: BuildName): Promise<void> {
    const { id, state } = await this.info(principal, build);
    const going = this.#going.get(id);
    if (going) await end(going);
    else if (state === "building")
      throw new BelljarError("TEMPLATE_BUSY", "The build goes on in another server of the home: ask that one to stop it");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([...this.#going.values()].map(end));
  }

  async #follow(wish: Omit<Begun, "log">, record: BuildRecord): Promise<void> {
    const { files, make, report } = this.#options;
    const log = new LogFile(files.log(record.id));
    let error: BuildRecord["error"];
    try {
      await make({ ...wish, log: (text) => log.write(text) });
    } catch (cause) {
      error = this.#tell(wish.signal.aborted ? wish.signal.reason : cause);
    }
    await log.end();
    try {
      await files.end({ ...record, endedAt: new Date(), ...(error && { error }) });
    } catch (cause) {
      report(`What became of the build ${record.id} of "${record.name}" cannot be written: ${String(cause)}`);
      await files.forget(record.id).catch(() => undefined);
    }
    this.#going.delete(record.id);
  }

  #tell(cause: unknown): BuildRecord["error"] {
    const code = cause instanceof BelljarError ? cause.code : "INTERNAL";
    if (code === "INTERNAL") this.#options.report(`A build has failed: ${String(cause)}`);
    const message = cause instanceof BelljarError ? cause.message : "The build has failed: the log of the server says why";
    return { code, message: printableText(message).slice(0, MESSAGE_MAX) };
  }

  /** The one that begins is there already: of several that come at once none is too many, though all may be refused. */
  async #makeRoom({ id: owner }: Principal): Promise<void> {
    const { files } = this.#options;
    const own = (await files.list()).filter((one) => one.owner === owner);
    const builds = await Promise.all(own.map(toBuild));
    const ended = builds.filter(({ state }) => state !== "building").toSorted((a, b) => a.startedAt.getTime() - b.startedAt.getTime());
    if (builds.length - ended.length > GOING_MAX)
      throw new BelljarError("QUOTA_EXCEEDED", `${GOING_MAX} of your builds go on: wait for one, or stop one`, { retryAfterMs: 10_000 });
    for (const { id } of ended.slice(0, Math.max(0, builds.length - KEPT_MAX))) await files.forget(id);
  }

  /** Somebody else's build and none are the same answer. */
  async #find({ id: owner }: Principal, { name, id }: BuildName): Promise<BuildRecord> {
    const found = await this.#options.files.find(id);
    if (found?.owner === owner && found.name === name) return found;
    throw new BelljarError("TEMPLATE_NOT_FOUND", "There is no such build of yours: builds are told of for a week");
  }
}

async function end({ stop, done }: Going): Promise<void> {
  stop.abort(new BelljarError("CANCELLED", "The build was stopped"));
  await done;
}
