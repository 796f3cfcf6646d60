import { setTimeout as wait } from "node:timers/promises";
import { BelljarError } from "../../../errors.ts";
import { loginWanted } from "../../client/oauth/server-login.ts";
import type { Instances } from "../instances.ts";
import type { ServerInstance } from "../server-instance.ts";
import type { ListShare, TakeBytes } from "./list-budget.ts";
import { type Listed, listServer } from "./list-server.ts";
import { holderOf } from "./relay-context.ts";

const AGAIN_FIRST_MS = 1_000;
const AGAIN_LAST_MS = 300_000;
const NO_LIMIT_MS = 24 * 3_600_000;
/** The key of an instance that lists, where each caller has its own. */
export const LISTS = "lists";

export interface ServerListsOptions {
  /** Of the server. */
  readonly name: string;
  readonly instances: Instances<ServerInstance>;
  /** The key of the instance that lists. */
  readonly key: string;
  /** The id of whoever owns the server: an instance of theirs lists too, once it says that its lists are others. */
  readonly owner: string;
  /** What its lists may take. Disposed with this. */
  readonly share: ListShare;
  /** Is given each new list. */
  readonly take: (listed: Listed) => Promise<void>;
  readonly report: (problem: string) => void;
  readonly stateChanged: () => void;
}

export type ListState =
  | { readonly state: "starting" | "ready"; readonly error?: undefined }
  | { readonly state: "failed" | "needs_login"; readonly error: BelljarError };

/** Keeps what one server has: nobody waits for it to list that. */
export class ServerLists implements AsyncDisposable {
  readonly #options: ServerListsOptions;
  readonly #closing = new AbortController();
  readonly #looking: Promise<void>;
  #state: ListState = { state: "starting" };
  #failures = 0;
  /** Which instance said last that its lists are others, of those that may list. */
  #teller: ServerInstance | undefined;
  #isWanted = false;
  #wake: () => void = () => undefined;
  /** Lists of which something was left out, and told. */
  readonly #told = new Set<string>();
  /** Told after the next list. */
  readonly #waiting: (() => void)[] = [];

  constructor(options: ServerListsOptions) {
    this.#options = options;
    this.#looking = this.#keepLooking();
  }

  get state(): ListState {
    return this.#state;
  }

  /** The lists of an instance are others than before. */
  changedAt(instance: ServerInstance | undefined): void {
    if (instance && this.#mayList(instance)) this.#teller = instance;
    this.#want();
  }

  /** A person has logged in, which may be what the server waited for. */
  loggedIn(): void {
    if (this.#state.state !== "ready") this.#want();
  }

  /** The same for whoever waits. Resolves once it lists what it has, or has failed. */
  async againIfNeeded(): Promise<void> {
    if (this.#state.state !== "ready") await this.restart();
  }

  /** Lists anew. Resolves once that has succeeded or failed. */
  async restart(): Promise<void> {
    this.#state = { state: "starting" };
    this.#failures = 0;
    this.#told.clear();
    if (this.#closing.signal.aborted) return;
    const listed = new Promise<void>((resolve) => void this.#waiting.push(resolve));
    this.#want();
    await listed;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort();
    this.#wake();
    await this.#looking;
    this.#options.share[Symbol.dispose]();
  }

  #want(): void {
    this.#isWanted = true;
    this.#wake();
  }

  /** Lists at once, when somebody wants it and at most once a second, and after a failure later and later. */
  async #keepLooking(): Promise<void> {
    const { signal } = this.#closing;
    while (!signal.aborted) {
      this.#isWanted = false;
      const waiting = this.#waiting.splice(0);
      await this.#look();
      for (const tell of waiting) tell();
      await wait(AGAIN_FIRST_MS, undefined, { signal, ref: false }).catch(() => undefined);
      await this.#pause(this.#failures === 0 ? NO_LIMIT_MS : Math.min(AGAIN_LAST_MS, AGAIN_FIRST_MS * 2 ** this.#failures));
    }
    for (const tell of this.#waiting) tell();
  }

  /** Until the time is up, or somebody wants a list. */
  #pause(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, ms).unref();
      this.#wake = () => (clearTimeout(timer), resolve());
      if (this.#isWanted || this.#closing.signal.aborted) this.#wake();
    });
  }

  /** Never rejects. */
  async #look(): Promise<void> {
    const { instances, take, share, stateChanged } = this.#options;
    try {
      await instances.use(this.#key(), this.#closing.signal, async ({ session }) =>
        take(await share.replace((room) => listServer(session, this.#listing(room)))),
      );
      this.#state = { state: "ready" };
      this.#failures = 0;
    } catch (cause) {
      if (this.#closing.signal.aborted) return;
      this.#fail(cause);
    }
    stateChanged();
  }

  /** What another caller's instance says is a hint: what it lists is that caller's doing, and all callers are shown one list. */
  #mayList(instance: ServerInstance): boolean {
    const key = this.#options.instances.keyOf(instance);
    return key !== undefined && (key === this.#options.key || holderOf(key) === this.#options.owner);
  }

  /** The instance that told may be another caller's by now. */
  #key(): string {
    const { instances, key } = this.#options;
    return (this.#teller && this.#mayList(this.#teller) && instances.keyOf(this.#teller)) || key;
  }

  #listing(take: TakeBytes): Parameters<typeof listServer>[1] {
    const { name, report } = this.#options;
    return { name, report, take, signal: this.#closing.signal, leftOut: (field) => this.#leftOut(field) };
  }

  /** Tells of the first of each list. */
  #leftOut(field: string): (name: string | undefined) => void {
    return (name = "") => {
      if (this.#told.has(field)) return;
      this.#told.add(field);
      const what = `${JSON.stringify(name.slice(0, 100))} and whatever else of its ${field} is larger than 512 KiB, 10,000 values or 500 levels`;
      this.#options.report(`The server "${this.#options.name}" lists more than callers can be shown: ${what} is left out`);
    };
  }

  #fail(cause: unknown): void {
    this.#failures += 1;
    const error = cause instanceof BelljarError ? cause : new BelljarError("SERVER_UNREACHABLE", String(cause), { cause });
    // Its last words differ at every start.
    const isNew = this.#state.error === undefined || firstLine(this.#state.error) !== firstLine(error);
    this.#state = { state: loginWanted(error) ? "needs_login" : "failed", error };
    if (isNew) this.#options.report(error.message);
  }
}

function firstLine({ message }: Error): string | undefined {
  return message.split("\n", 1)[0];
}
