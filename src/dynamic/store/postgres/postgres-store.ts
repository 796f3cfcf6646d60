import { createHash } from "node:crypto";
import * as z from "zod";
import { TurnsByKey } from "../../../async/turns-by-key.ts";
import { BelljarError } from "../../../errors.ts";
import { parseJson } from "../../../files/parse-json.ts";
import type { UnitHead, UnitVersion } from "../../unit.ts";
import type { LeftTools } from "../../take-over.ts";
import { keyOf } from "../../unit-key.ts";
import { assertStorable, changedMeanwhile, ownerBusy, versionMissing } from "../assert-storable.ts";
import { reportOnce } from "../report-once.ts";
import { unitHeadSchema, unitVersionSchema } from "../stored-unit.ts";
import type { ChangeListener, UnitId, UnitStore } from "../unit-store.ts";
import { ChangeChannel, noticeOf, TELL_CHANGE } from "./change-channel.ts";
import type { DatabasePlace } from "./database-place.ts";
import { type Database, isTooLate, isUnavailable, openDatabase, type Query, reasonOf } from "./database.ts";
import { McpBoxRows } from "./mcp-box-rows.ts";
import { migrate } from "./migrate.ts";

export interface PostgresStoreOptions {
  readonly place: DatabasePlace;
  /** Told of damaged rows, each once, and of a database that is lost and found again. */
  readonly report: (problem: string) => void;
  /** How often the connection that listens is tried. */
  readonly pulseMs?: number;
}

/** Beside its own units, it has what MCP Box has left in the same database. */
export interface PostgresUnitStore extends UnitStore {
  readonly left: LeftTools;
}

/** Half of the connections of a process may wait for owners. */
const ALONE_MAX = 4n;

interface UnitRow {
  readonly id: string;
  /** PostgreSQL's bigint, as text. */
  readonly revision: string;
  readonly head: string;
}

/**
 * Opens the units of a PostgreSQL database, and makes its tables. Rejects with `TOOL_STORE_UNAVAILABLE` if the database cannot be used, and
 * with `CONFIG_INVALID` if it never could be.
 */
export async function openPostgresStore(options: PostgresStoreOptions): Promise<PostgresUnitStore> {
  const database = await openDatabase(options.place, reportOnce(options.report));
  try {
    await migrate(database);
    const changes = await ChangeChannel.open({ ...options, database });
    return new PostgresStore(database, changes, options.report);
  } catch (cause) {
    await database[Symbol.asyncDispose]();
    throw cause instanceof BelljarError && !isUnavailable(cause) ? cause : notOpened(database, cause);
  }
}

/** Says which server answers. Rejects as `openPostgresStore`. It makes no tables. */
export async function probePostgres(place: DatabasePlace): Promise<string> {
  await using database = await openDatabase(place);
  try {
    const [found] = await database.query<{ readonly version: string }>("SELECT current_setting('server_version') AS version");
    return `PostgreSQL ${found?.version}, ${database.title}`;
  } catch (cause) {
    throw notOpened(database, cause);
  }
}

class PostgresStore implements PostgresUnitStore {
  readonly left: LeftTools;
  readonly #database: Database;
  readonly #changes: ChangeChannel;
  readonly #report: (problem: string) => void;
  readonly #alone = new TurnsByKey();

  constructor(database: Database, changes: ChangeChannel, report: (problem: string) => void) {
    this.left = new McpBoxRows(database);
    this.#database = database;
    this.#changes = changes;
    this.#report = reportOnce(report);
  }

  async heads(): Promise<readonly UnitHead[]> {
    const rows = await this.#read<UnitRow>("SELECT id, revision, head FROM belljar_units", []);
    return rows.flatMap((row) => this.#toHead(row) ?? []);
  }

  async head(owner: string, name: string): Promise<UnitHead | undefined> {
    const [row] = await this.#read<UnitRow>("SELECT id, revision, head FROM belljar_units WHERE key = $1", [toKey({ owner, name })]);
    return row && this.#toHead(row);
  }

  async version(owner: string, name: string, number: number): Promise<UnitVersion | undefined> {
    const values = [toKey({ owner, name }), number];
    const [row] = await this.#read<{ readonly version: string }>(
      "SELECT version FROM belljar_versions WHERE key = $1 AND number = $2",
      values,
    );
    if (!row) return undefined;
    const version = unitVersionSchema.safeParse(parseJson(row.version)).data;
    if (version?.number === number) return version;
    this.#report(`Version ${number} of the tools ${JSON.stringify(name)} is left out: its row in belljar_versions is damaged`);
    return undefined;
  }

  async write(head: UnitHead, expected: number, added?: UnitVersion): Promise<void> {
    assertStorable(head, expected, added);
    await this.#database.transaction(async (query) => {
      await swapHead(query, head, expected);
      if (added) await addVersion(query, head, added);
      await keepVersions(query, head);
    });
  }

  async remove(owner: string, name: string, expected: number): Promise<void> {
    const id = { owner, name };
    const text = `WITH gone AS (DELETE FROM belljar_units WHERE key = $2 AND revision = $3 RETURNING 1) SELECT ${TELL_CHANGE} FROM gone`;
    const gone = await this.#database.query(text, [noticeOf(id), toKey(id), expected]);
    if (gone.length === 0) throw await refusal(this.#database.query, id);
  }

  /** A few of this process at a time: each holds a connection, and its work needs another one. */
  alone<T>(owner: string, work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    const lock = lockOf(owner);
    const locked = async (query: Query): Promise<T> => {
      // The connection is idle while the work uses others.
      await query("SET LOCAL idle_in_transaction_session_timeout = 0");
      await query("SELECT pg_advisory_xact_lock($1::bigint)", [lock.toString()]).catch((cause: unknown) => {
        throw isTooLate(cause) ? ownerBusy() : cause;
      });
      signal?.throwIfAborted();
      return work();
    };
    return this.#alone.run(String(BigInt.asUintN(64, lock) % ALONE_MAX), () => this.#database.transaction(locked), signal);
  }

  onChange(listener: ChangeListener): () => void {
    return this.#changes.on(listener);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#changes[Symbol.asyncDispose]();
    await this.#database[Symbol.asyncDispose]();
  }

  /** What could not be read is told again when the database answers, so that nobody goes on with what was. */
  async #read<Row>(text: string, values: readonly unknown[]): Promise<readonly Row[]> {
    try {
      return await this.#database.query<Row>(text, values);
    } catch (cause) {
      this.#changes.miss();
      throw cause;
    }
  }

  #toHead(row: UnitRow): UnitHead | undefined {
    const head = readHead(row);
    if (!head) this.#report(`The tools ${row.id.slice(0, 200)} are left out: their row in belljar_units is damaged`);
    return head;
  }
}

/** Undefined for a row that is damaged, or of another unit. */
function readHead({ id, revision, head: text }: UnitRow): UnitHead | undefined {
  const head = unitHeadSchema.safeParse(parseJson(text)).data;
  return head && keyOf(head) === id && String(head.revision) === revision ? head : undefined;
}

function toKey(unit: UnitId): Buffer {
  return createHash("sha256").update(keyOf(unit)).digest();
}

/** PostgreSQL's number for what has a lock of its own: the owner. Two owners of one number only wait for each other. */
function lockOf(owner: string): bigint {
  return createHash("sha256").update(owner).digest().readBigInt64BE();
}

async function swapHead(query: Query, head: UnitHead, expected: number): Promise<void> {
  const values = [toKey(head), head.revision, JSON.stringify(z.encode(unitHeadSchema, head))];
  const swapped =
    expected === 0
      ? await query("INSERT INTO belljar_units (key, revision, head, id) VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING RETURNING 1", [
          ...values,
          keyOf(head),
        ])
      : await query("UPDATE belljar_units SET revision = $2, head = $3 WHERE key = $1 AND revision = $4 RETURNING 1", [
          ...values,
          expected,
        ]);
  if (swapped.length === 0) throw await refusal(query, head);
}

async function addVersion(query: Query, unit: UnitId, added: UnitVersion): Promise<void> {
  await query(
    "INSERT INTO belljar_versions (key, number, version) VALUES ($1, $2, $3) ON CONFLICT (key, number) DO UPDATE SET version = $3",
    [toKey(unit), added.number, JSON.stringify(z.encode(unitVersionSchema, added))],
  );
}

/** Removes the versions that the head names no more, and tells of the change. Throws `ARGUMENTS_INVALID` if one that it names is not there. */
async function keepVersions(query: Query, head: UnitHead): Promise<void> {
  const numbers = head.versions.map(({ number }) => number);
  const [kept] = await query<{ readonly numbers: readonly string[] | null }>(
    `WITH gone AS (DELETE FROM belljar_versions WHERE key = $2 AND NOT number = ANY ($3::bigint[]))
     SELECT ${TELL_CHANGE}, (SELECT array_agg(number) FROM belljar_versions WHERE key = $2 AND number = ANY ($3::bigint[])) AS numbers`,
    [noticeOf(head), toKey(head), numbers],
  );
  const stored = new Set(kept?.numbers?.map(Number));
  const missing = numbers.find((number) => !stored.has(number));
  if (missing !== undefined) throw versionMissing(head, missing);
}

/** Why the stored revision is another one. */
async function refusal(query: Query, unit: UnitId): Promise<BelljarError> {
  const [row] = await query<UnitRow>("SELECT id, revision, head FROM belljar_units WHERE key = $1", [toKey(unit)]);
  if (!row || readHead(row)) return changedMeanwhile(unit);
  const name = JSON.stringify(unit.name);
  return new BelljarError("FILE_IO", `The tools ${name} cannot change, because their row in belljar_units is damaged: delete that row`);
}

function notOpened({ title }: Database, cause: unknown): BelljarError {
  return new BelljarError(
    "TOOL_STORE_UNAVAILABLE",
    `The database of users' tools, ${title}, cannot be used: ${reasonOf(cause)}. Check that it runs and is the one that DATABASE_URL names, or set STORE_IN_FILE=true to keep them in files`,
    { cause },
  );
}
