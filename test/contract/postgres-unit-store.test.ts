import { afterAll, beforeAll, describe } from "vitest";
import { POSTGRES_MISSING, type PostgresServer, startPostgres } from "../support/postgres-server.ts";
import { makePostgresPlace } from "../support/postgres-place.ts";
import { unitStoreContract } from "./unit-store.ts";

let server: PostgresServer | undefined;

describe.skipIf(POSTGRES_MISSING !== "")(`PostgreSQL${POSTGRES_MISSING}`, () => {
  beforeAll(async () => {
    server = await startPostgres();
  });
  afterAll(() => server?.[Symbol.asyncDispose]());

  unitStoreContract(() => makePostgresPlace(server!));
});
