import { BelljarError } from "../../../errors.ts";
import type { HubServer } from "../hub-server.ts";
import { digestOf } from "../../../files/canonical.ts";
import {
  approvePinned,
  changesOf,
  DAMAGED,
  digestOfLast,
  pinFile,
  type Pinned,
  type PinnedSide,
  pinPlace,
  type PinPlace,
  tellChanges,
} from "./pin-file.ts";
import {
  approvedLists,
  changesBetween,
  digestItems,
  type Lists,
  type PinChange,
  type ShownLists,
  type ToldChange,
} from "./pinned-lists.ts";

/** Of the definitions that are kept whole, in memory. Of more their digests are kept, which find a change and do not show it. */
const KEPT_MAX_BYTES = 4 * 1_048_576;
/** Named in the log. */
const NAMED_MAX = 5;

export interface ServerPinOptions {
  readonly folder: string;
  readonly owner: string;
  readonly server: HubServer;
  readonly report: (problem: string) => void;
}

/**
 * The definitions of one server, as they were approved and as they were listed last, kept in the home. The first list is approved with the
 * server. With `pin: "strict"` a definition that has changed is blocked until it is approved; otherwise its change is told.
 */
export class ServerPin {
  readonly #options: ServerPinOptions;
  readonly #place: PinPlace;
  readonly #identity: string;
  #state: Pinned | undefined;
  #changes: readonly PinChange[] = [];
  #told = "";

  constructor(options: ServerPinOptions) {
    const { folder, owner, server } = options;
    this.#options = options;
    this.#identity = identityOf(server);
    this.#place = pinPlace({ folder, owner, name: server.name }, this.#identity);
    this.reload();
  }

  /** Of its numbered file. */
  get fileName(): string {
    return this.#place.file;
  }

  /** How many definitions are not as they were approved. */
  get changed(): number {
    return this.#changes.length;
  }

  /** The first changes. */
  get changes(): readonly ToldChange[] {
    return this.#state ? tellChanges(this.#state, this.#changes) : [];
  }

  /** Stands for what was listed last; undefined if nothing was. */
  get digest(): string | undefined {
    return this.#state && digestOfLast(this.#state);
  }

  /** Takes up what another process has written. */
  reload(): void {
    const value = this.#read();
    if (value !== DAMAGED) return this.#set(value);
    const { name, settings } = this.#options.server;
    const effect = settings.pin === "strict" ? "All of them are blocked until you" : "Look at them, and";
    const what = `What was approved of the definitions of the MCP server "${name}" cannot be read`;
    this.#options.report(`${what}. ${effect} accept them with \`belljar server approve ${name}\``);
  }

  #read(): Pinned | typeof DAMAGED | undefined {
    try {
      return pinFile(this.#place).readNow(undefined).value;
    } catch (cause) {
      this.#tell(cause);
      return DAMAGED;
    }
  }

  /** What callers are shown; undefined as long as nothing is known. */
  shown(): ShownLists | undefined {
    const { pinned, last } = this.#state ?? {};
    if (!last?.lists) return undefined;
    const isStrict = this.#options.server.settings.pin === "strict";
    return isStrict ? approvedLists(pinned?.lists ?? {}, last.lists, this.#changes) : { lists: last.lists, blocked: new Set() };
  }

  /**
   * Takes what the server lists now, and gives what callers are shown of it. What cannot be written is told, and holds for this process. Rejects
   * with `RESULT_TOO_LARGE` for more than can be kept, with `pin: "strict"`.
   */
  async take(lists: Lists): Promise<ShownLists> {
    const { digests, size } = await digestItems(lists);
    const isKept = size <= KEPT_MAX_BYTES;
    if (!isKept && this.#options.server.settings.pin === "strict") throw this.#tooMuch();
    await this.#change({ digests, ...(isKept && { lists }) });
    this.#tellChanges();
    return this.shown() ?? { lists, blocked: new Set() };
  }

  /** What these lists would change of what is approved; nothing where nothing is. `digest`: that of `digest`, once the server lists them. */
  async compare(
    lists: Lists,
  ): Promise<{ readonly changes: readonly PinChange[]; readonly told: readonly ToldChange[]; readonly digest: string }> {
    const last = { digests: (await digestItems(lists)).digests, lists };
    const { pinned = last } = this.#state ?? {};
    const changes = changesBetween(pinned.digests, last.digests);
    return { changes, told: tellChanges({ pinned, last }, changes), digest: digestOfLast({ last }) };
  }

  /** Approves what was listed last. Rejects with `MCP_SERVER_CHANGED` if that is not what `digest` stands for. */
  async approve(digest?: string): Promise<void> {
    this.#set(await approvePinned(this.#place, digest));
  }

  /** For a server that is removed. Definitions of another server of the name lie in another file. */
  async forget(): Promise<void> {
    await pinFile(this.#place).remove();
  }

  async #change(last: PinnedSide): Promise<void> {
    const next = (before: Pinned | typeof DAMAGED | undefined): Pinned => {
      // Nobody knows what was approved: so it is nothing.
      if (before === DAMAGED && this.#options.server.settings.pin === "strict")
        return { identity: this.#identity, pinned: { digests: {}, lists: {} }, last };
      if (before === undefined || before === DAMAGED || before.identity !== this.#identity)
        return { identity: this.#identity, pinned: last, last };
      return changesBetween(before.last.digests, last.digests).length === 0 ? before : { ...before, last };
    };
    try {
      const { value } = await pinFile(this.#place).change(undefined, next);
      this.#set(value === DAMAGED ? undefined : value);
    } catch (cause) {
      this.#tell(cause);
      this.#set(next(this.#state ?? this.#read()));
    }
  }

  #set(state: Pinned | undefined): void {
    if (state?.identity !== this.#identity) return;
    this.#state = state;
    this.#changes = changesOf(state);
  }

  /** Once for each state. */
  #tellChanges(): void {
    const { digest } = this;
    if (digest === undefined || digest === this.#told || this.#changes.length === 0) return;
    this.#told = digest;
    const { server, report } = this.#options;
    const named = this.#changes.slice(0, NAMED_MAX).map(({ list, name, kind }) => `${kind} ${list} ${JSON.stringify(name.slice(0, 100))}`);
    const more = this.#changes.length > named.length ? `, and ${this.#changes.length - named.length} more` : "";
    const isStrict = server.settings.pin === "strict";
    const effect = isStrict ? "They are blocked until you accept them" : "See them with `belljar server info`, and accept them";
    const what = `The definitions of the MCP server "${server.name}" are not those that were approved: ${named.join(", ")}${more}`;
    report(`${what}. ${effect} with \`belljar server approve ${server.name}\``);
  }

  #tell(cause: unknown): void {
    this.#options.report(cause instanceof Error ? cause.message : String(cause));
  }

  #tooMuch(): BelljarError {
    const { name } = this.#options.server;
    return new BelljarError("RESULT_TOO_LARGE", `The MCP server "${name}" lists more than can be pinned: leave "pin": "strict" out`);
  }
}

/** For whoever uses what is blocked: a tool, a prompt or a resource, by the list that it is in. */
export function blockedItem(server: string, list: string, name: string): BelljarError {
  const advice = `look at it with \`belljar server info ${server}\`, and approve it with \`belljar server approve ${server}\``;
  const what = `${list.slice(0, -1)} ${JSON.stringify(name.slice(0, 100))}`;
  return new BelljarError("TOOL_CHANGED", `The MCP server "${server}" has changed its ${what}: ${advice}`);
}

function identityOf({ target, settings }: HubServer): string {
  if (target.kind !== "stdio") return digestOf(["url", target.url.href]);
  const { command, args, cwd } = target;
  return digestOf(["stdio", command, args, cwd ?? null, settings.isolation, settings.template ?? null]);
}
