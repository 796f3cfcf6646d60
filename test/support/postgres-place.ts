import { join } from "node:path";
import { openPostgresStore } from "../../src/dynamic/store/postgres/postgres-store.ts";
import type { UnitStore } from "../../src/dynamic/store/unit-store.ts";
import type { StorePlace } from "../contract/unit-store.ts";
import type { PostgresServer, TestDatabase } from "./postgres-server.ts";

/** A database of stores, with all that its stores reported. */
export interface PostgresPlace extends StorePlace {
  readonly database: TestDatabase;
  readonly problems: readonly string[];
  open(): Promise<UnitStore>;
}

export async function makePostgresPlace(server: PostgresServer): Promise<PostgresPlace> {
  const database = await server.database();
  const place = { url: database.url };
  const problems: string[] = [];
  return {
    database,
    problems,
    module: join(import.meta.dirname, "../../dist/lib/dynamic/store/postgres/postgres-store.js"),
    opens: "openPostgresStore",
    options: { place },
    open: () => openPostgresStore({ place, report: (problem) => problems.push(problem) }),
    // The database goes with its server.
    [Symbol.asyncDispose]: async () => undefined,
  };
}
