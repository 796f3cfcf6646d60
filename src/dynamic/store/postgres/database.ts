import type * as postgres from "pg";
import { BelljarError } from "../../../errors.ts";
import { type DatabasePlace, titleOf } from "./database-place.ts";

/** Of one process; one more listens. */
const CONNECTIONS_MAX = 8;
const CONNECT_MS = 10_000;
/** The server ends a statement before this process gives it up. */
const STATEMENT_MS = 10_000;
const QUERY_MS = 15_000;
/** Without those of lost connections and of an operator's hand (`08`, `57`). */
const SQLSTATE = /^(?!08|57)[0-9A-Z]{5}$/;
const QUERY_CANCELED = "57014";

/** Runs one statement, whose values are parameters, and gives back its rows. */
export type Query = <Row>(text: string, values?: readonly unknown[]) => Promise<readonly Row[]>;

/**
 * A PostgreSQL database. What fails in it rejects with `TOOL_STORE_UNAVAILABLE`, whose `cause` says why; no message holds its password.
 * Every statement has a limit of time. Disposal ends all connections.
 */
export interface Database extends AsyncDisposable {
  /** Host and name. */
  readonly title: string;
  readonly query: Query;
  /** Commits what `work` does, or nothing of it if it rejects. */
  transaction<T>(work: (query: Query) => Promise<T>): Promise<T>;
  /** A connection beside the others, whose holder ends it. It is connected by its holder. */
  newConnection(): postgres.Client;
}

/** Connects with the first query. `report` is told why statements fail. Throws `CONFIG_INVALID` for a place that is none. */
export async function openDatabase(place: DatabasePlace, report: (problem: string) => void = () => undefined): Promise<Database> {
  const title = titleOf(place);
  const { Client, Pool } = await loadClient();
  const config = {
    ...("url" in place ? { connectionString: place.url } : { ...place, database: place.name }),
    application_name: "belljar",
    connectionTimeoutMillis: CONNECT_MS,
    statement_timeout: STATEMENT_MS,
    idle_in_transaction_session_timeout: STATEMENT_MS,
    query_timeout: QUERY_MS,
    keepAlive: true,
  };
  const told =
    (query: Query): Query =>
    (text, values) =>
      query<never>(text, values).catch((cause: unknown) => {
        if (isRefusal(cause)) report(`The database of users' tools, ${title}, has failed: ${reasonOf(cause)}`);
        throw cause;
      });
  const pool = new Pool({ ...config, max: CONNECTIONS_MAX, allowExitOnIdle: true });
  // Of a connection that nobody uses: the next query opens another one.
  pool.on("error", () => undefined);
  return {
    title,
    query: told(queryOf(pool)),
    transaction: async (work) => transact(await attempt(() => pool.connect()), (query) => work(told(query))),
    newConnection: () => new Client(config),
    [Symbol.asyncDispose]: () => pool.end(),
  };
}

/** Loaded here alone: who has no database does not wait for it, and needs no package for it. */
async function loadClient(): Promise<typeof postgres> {
  try {
    return await import("pg");
  } catch (cause) {
    throw new BelljarError("CONFIG_INVALID", "Users' tools in PostgreSQL need the package pg, which is not installed: npm install pg", {
      cause,
    });
  }
}

/** The types of rows are those of the statement, which is Belljar's own. */
function queryOf(on: Pick<postgres.ClientBase, "query">): Query {
  return async <Row>(text: string, values: readonly unknown[] = []) =>
    (await attempt(() => on.query({ text, values: [...values] }))).rows as readonly Row[];
}

/** The client also throws, as for a certificate's file that is gone. */
async function attempt<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (cause) {
    throw new BelljarError(
      "TOOL_STORE_UNAVAILABLE",
      "The database of users' tools cannot be used now: try again in a moment. If this was a change, look first whether it was made",
      { cause },
    );
  }
}

async function transact<T>(client: postgres.PoolClient, work: (query: Query) => Promise<T>): Promise<T> {
  // A connection that is lost in use fails its query too.
  const lost = (): void => undefined;
  client.on("error", lost);
  let isUsable = false;
  const query = queryOf(client);
  try {
    await query("BEGIN ISOLATION LEVEL READ COMMITTED");
    const result = await work(query);
    await query("COMMIT");
    isUsable = true;
    return result;
  } catch (cause) {
    isUsable =
      !isUnavailable(cause) &&
      (await client.query("ROLLBACK").then(
        () => true,
        () => false,
      ));
    throw cause;
  } finally {
    client.off("error", lost);
    // Closing it undoes what was not committed.
    client.release(!isUsable);
  }
}

export function isUnavailable(cause: unknown): cause is BelljarError {
  return cause instanceof BelljarError && cause.code === "TOOL_STORE_UNAVAILABLE";
}

/** Whether the server has ended a statement at its limit of time. */
export function isTooLate(cause: unknown): boolean {
  return isUnavailable(cause) && (cause.cause as { readonly code?: unknown } | undefined)?.code === QUERY_CANCELED;
}

/** Whether the server would not do it, as for rights that are missing. That it is away is told by whoever listens. */
function isRefusal(cause: unknown): boolean {
  const { code } = ((isUnavailable(cause) && cause.cause) || {}) as { readonly code?: unknown };
  return typeof code === "string" && SQLSTATE.test(code);
}

/** Why it failed, for whoever runs Belljar. */
export function reasonOf(cause: unknown): string {
  const origin = isUnavailable(cause) ? cause.cause : cause;
  // A name with several addresses fails with an error for each.
  if (origin instanceof AggregateError) return reasonOf(origin.errors[0]);
  return origin instanceof Error ? origin.message : String(origin);
}
