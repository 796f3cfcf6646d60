import { BelljarError } from "../../../errors.ts";
import type { Database, Query } from "./database.ts";

/**
 * What each step adds; a step never changes once it is released. Owners and names may be any text, and are not in the text that PostgreSQL
 * compares: `key` is a hash of both. Heads and versions are JSON in which every character that PostgreSQL could not hold is escaped.
 */
const STEPS: readonly string[] = [
  `CREATE TABLE belljar_units (
     key bytea PRIMARY KEY,
     id text NOT NULL,
     revision bigint NOT NULL,
     head text NOT NULL
   );
   CREATE TABLE belljar_versions (
     key bytea NOT NULL REFERENCES belljar_units ON DELETE CASCADE,
     number bigint NOT NULL,
     version text NOT NULL,
     PRIMARY KEY (key, number)
   );
   CREATE TABLE belljar_taken_over (
     source text PRIMARY KEY,
     outcome text NOT NULL,
     at timestamptz NOT NULL DEFAULT now()
   )`,
];

/** Brings the tables up to date, wholly or not at all. Of several processes that do so at once the first does it, and the others wait. */
export async function migrate(database: Database): Promise<void> {
  await assertUnicode(database);
  await database.transaction(async (query) => {
    await query("SELECT pg_advisory_xact_lock(hashtextextended('belljar_migrations', 0))");
    const done = await stepsDone(query);
    if (done > STEPS.length)
      throw new BelljarError("CONFIG_INVALID", `A newer Belljar has changed the tables in ${database.title}: start that one`);
    for (const [index, step] of STEPS.entries()) {
      if (index < done) continue;
      await query(step);
      await query("INSERT INTO belljar_migrations (step) VALUES ($1)", [index + 1]);
    }
  });
}

/** Whoever may not create tables can use those that are there. */
async function stepsDone(query: Query): Promise<number> {
  const [found] = await query<{ readonly there: boolean }>("SELECT to_regclass('belljar_migrations') IS NOT NULL AS there");
  if (!found?.there) await query("CREATE TABLE belljar_migrations (step integer PRIMARY KEY, at timestamptz NOT NULL DEFAULT now())");
  const [last] = await query<{ readonly step: number | null }>("SELECT max(step) AS step FROM belljar_migrations");
  return last?.step ?? 0;
}

async function assertUnicode(database: Database): Promise<void> {
  const [found] = await database.query<{ readonly encoding: string }>("SELECT current_setting('server_encoding') AS encoding");
  if (found?.encoding === "UTF8") return;
  throw new BelljarError("CONFIG_INVALID", `The database ${database.title} has the encoding ${found?.encoding}: make one with UTF8`);
}
