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
import { type BuildRecord, isWaiting, toBuild } from "./build-record.ts";
import { makeRoom } from "./build-room.ts";
import { LogFile, readLog } from "./log-file.ts";
import { stampLines } from "./stamped-log.ts";

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
      await makeRoom(files, principal);
    } catch (cause) {
      await files.forget(record.id);
      throw cause;
    }
    this.follow({ principal, id: record.id, options: parsed }, record);
    return toBuild(record);
  }

  /** Makes what has begun, and writes down what becomes of it. */
  follow(begun: Omit<Begun, "log" | "signal">, record: BuildRecord): void {
    const stop = new AbortController();
    const done = this.#follow({ ...begun, signal: stop.signal }, record);
    this.#going.set(record.id, { stop, done });
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
    const said = record.names ? stampLines(log) : log;
    let [error, step]: [BuildRecord["error"], number] = [undefined, 0];
    try {
      await make({ ...wish, log: (text, line = step) => said.write(text, (step = line)) });
    } catch (cause) {
      error = this.#tell(wish.signal.aborted ? wish.signal.reason : cause, (failure) => wish.work?.tell?.(failure, step));
    }
    await said.end();
    try {
      await files.end({ ...record, endedAt: new Date(), ...(error && { error, ...(record.names && { step }) }) });
    } catch (cause) {
      report(`What became of the build ${record.id} of "${record.name}" cannot be written: ${String(cause)}`);
      await files.forget(record.id).catch(() => undefined);
    }
    this.#going.delete(record.id);
  }

  #tell(cause: unknown, tell: (failure: BelljarError) => string | undefined): BuildRecord["error"] {
    const code = cause instanceof BelljarError ? cause.code : "INTERNAL";
    if (code === "INTERNAL") this.#options.report(`A build has failed: ${String(cause)}`);
    const message = cause instanceof BelljarError ? (tell(cause) ?? cause.message) : "The build has failed: the log of the server says why";
    return { code, message: printableText(message).slice(0, MESSAGE_MAX) };
  }

  /** Somebody else's build and none are the same answer. */
  async #find({ id: owner }: Principal, { name, id }: BuildName): Promise<BuildRecord> {
    const found = await this.#options.files.find(id);
    if (found?.owner === owner && found.name === name && !isWaiting(found)) return found;
    throw new BelljarError("TEMPLATE_NOT_FOUND", "There is no such build of yours: builds are told of for a week");
  }
}

async function end({ stop, done }: Going): Promise<void> {
  stop.abort(new BelljarError("CANCELLED", "The build was stopped"));
  await done;
}
