import type { Client, QueryConfig } from "pg";
import * as z from "zod";
import { repeat } from "../../../async/repeat.ts";
import { parseJson } from "../../../files/parse-json.ts";
import { keyOf } from "../../unit-key.ts";
import type { ChangeListener, UnitId } from "../unit-store.ts";
import { type Database, reasonOf } from "./database.ts";

const CHANNEL = "belljar_units";
/** PostgreSQL takes less than 8,000 bytes. */
const NOTICE_BYTES_MAX = 7_900;
const RETRY_FIRST_MS = 100;
const RETRY_MAX_MS = 5_000;
/** How soon a connection is found dead that says nothing, and changes are told that could not be read when they were. */
const PULSE_MS = 10_000;

/** A statement that tells every server of the change, once its transaction is committed. */
export const TELL_CHANGE = `pg_notify('${CHANNEL}', $1)`;

/** The parameter of that statement. Empty: a name is too long, and anything may have changed. */
export function noticeOf(unit: UnitId): string {
  const notice = keyOf(unit);
  return Buffer.byteLength(notice) > NOTICE_BYTES_MAX ? "" : notice;
}

const noticeSchema = z.tuple([z.string(), z.string()]);

export interface ChangeChannelOptions {
  readonly database: Database;
  readonly report: (problem: string) => void;
  readonly pulseMs?: number;
}

/**
 * Hears of the changes of all servers. A connection that is lost is opened again, as long as it takes; then listeners are told that anything
 * may have changed.
 */
export class ChangeChannel implements AsyncDisposable {
  readonly #options: ChangeChannelOptions;
  readonly #listeners = new Set<ChangeListener>();
  readonly #pulse: AsyncDisposable;
  #client: Client | undefined;
  #opening: Client | undefined;
  #retry: NodeJS.Timeout | undefined;
  #connecting: Promise<void> = Promise.resolve();
  #hasMissed = false;
  #isClosed = false;

  private constructor(options: ChangeChannelOptions) {
    this.#options = options;
    const { pulseMs = PULSE_MS } = options;
    this.#pulse = repeat(() => this.#check().then(() => pulseMs), pulseMs);
  }

  /** Rejects with the client's error if the first connection cannot be made. */
  static async open(options: ChangeChannelOptions): Promise<ChangeChannel> {
    const channel = new ChangeChannel(options);
    try {
      await channel.#listen();
      return channel;
    } catch (cause) {
      await channel[Symbol.asyncDispose]();
      throw cause;
    }
  }

  on(listener: ChangeListener): () => void {
    const own: ChangeListener = (changed) => listener(changed);
    this.#listeners.add(own);
    return () => this.#listeners.delete(own);
  }

  /** A change may not have been read: anything may have changed, which is told when the database answers again. */
  miss(): void {
    this.#hasMissed = true;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#retry);
    this.#listeners.clear();
    const clients = [this.#client, this.#opening];
    this.#client = undefined;
    for (const client of clients) client?.connection.stream.destroy();
    await this.#pulse[Symbol.asyncDispose]();
    await this.#connecting;
  }

  async #listen(): Promise<void> {
    const client = this.#options.database.newConnection();
    let reason = "it was closed";
    client.on("error", (cause) => (reason = reasonOf(cause)));
    client.on("notification", ({ payload }) => this.#tell(unitOf(payload)));
    client.on("end", () => this.#lose(client, reason));
    this.#opening = client;
    try {
      await client.connect();
      await client.query(`LISTEN ${CHANNEL}`);
      this.#client = client;
    } finally {
      this.#opening = undefined;
      if (this.#client !== client) client.connection.stream.destroy();
    }
  }

  #lose(client: Client, reason: string): void {
    if (this.#client !== client) return;
    this.#client = undefined;
    const { database, report } = this.#options;
    report(`The database of users' tools, ${database.title}, is lost (${reason}): until it is there again they are served from memory`);
    this.#plan(RETRY_FIRST_MS);
  }

  #plan(delayMs: number): void {
    if (this.#isClosed) return;
    this.#retry = setTimeout(() => void (this.#connecting = this.#listenAgain(delayMs)), delayMs).unref();
  }

  async #listenAgain(delayMs: number): Promise<void> {
    try {
      await this.#listen();
    } catch {
      this.#plan(Math.min(delayMs * 2, RETRY_MAX_MS));
      return;
    }
    this.#options.report(`The database of users' tools, ${this.#options.database.title}, is there again`);
    this.#hasMissed = false;
    this.#tell(undefined);
  }

  /** Never rejects. */
  async #check(): Promise<void> {
    const client = this.#client;
    if (!client) return;
    const { pulseMs = PULSE_MS } = this.#options;
    try {
      await client.query(pulseOf(pulseMs));
    } catch {
      client.connection.stream.destroy();
      return;
    }
    if (!this.#hasMissed) return;
    this.#hasMissed = false;
    this.#tell(undefined);
  }

  #tell(changed: UnitId | undefined): void {
    for (const listener of this.#listeners) listener(changed);
  }
}

/** The client knows the limit of one query, and its types do not. */
function pulseOf(pulseMs: number): QueryConfig & { readonly query_timeout: number } {
  return { text: "SELECT 1", query_timeout: pulseMs };
}

function unitOf(notice: string | undefined): UnitId | undefined {
  const [owner, name] = noticeSchema.safeParse(parseJson(notice ?? "")).data ?? [];
  return owner === undefined || name === undefined ? undefined : { owner, name };
}
