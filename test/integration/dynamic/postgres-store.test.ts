import { kill } from "node:process";
import { Client } from "pg";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openPostgresStore } from "../../../src/dynamic/store/postgres/postgres-store.ts";
import type { UnitStore } from "../../../src/dynamic/store/unit-store.ts";
import { nextHead, publish, SPEC, versionOf, watchChanges } from "../../contract/unit-store.ts";
import { makePostgresPlace } from "../../support/postgres-place.ts";
import { PASSWORD, POSTGRES_MISSING, type PostgresServer, startPostgres } from "../../support/postgres-server.ts";

const ID = { owner: "local", name: "weather" };
const AWAY = { code: "TOOL_STORE_UNAVAILABLE", status: 503, retryable: true };

/** Resolves once a listener is told that anything may have changed. */
function untilAnything(store: UnitStore): Promise<void> {
  return new Promise((resolve) => {
    const stop = store.onChange((changed) => {
      if (changed !== undefined) return;
      stop();
      resolve();
    });
  });
}

describe.skipIf(POSTGRES_MISSING !== "")(`a store in PostgreSQL${POSTGRES_MISSING}`, () => {
  let server: PostgresServer;
  beforeAll(async () => {
    server = await startPostgres();
  });
  afterAll(() => server?.[Symbol.asyncDispose]());

  it("makes its tables once, however many open it at the same moment", async () => {
    await using place = await makePostgresPlace(server);
    const stores = await Promise.all(Array.from({ length: 6 }, () => place.open()));
    await publish(stores[0]!, ID);
    expect(await stores[5]!.heads()).toHaveLength(1);
    expect(await place.database.query("SELECT step FROM belljar_migrations")).toEqual([{ step: 1 }]);
    for (const store of stores) await store[Symbol.asyncDispose]();
  });

  it("refuses tables of a newer Belljar, and a database that cannot hold every text", async () => {
    await using place = await makePostgresPlace(server);
    await (await place.open())[Symbol.asyncDispose]();
    await place.database.query("INSERT INTO belljar_migrations (step) VALUES (1000)");
    await expect(place.open()).rejects.toMatchObject({ code: "CONFIG_INVALID", message: expect.stringContaining("newer Belljar") });
    await place.database.query("CREATE DATABASE latin ENCODING 'LATIN1' TEMPLATE template0 LC_COLLATE 'C' LC_CTYPE 'C'");
    const latin = { url: place.database.url.replace(place.database.name, "latin") };
    await expect(openPostgresStore({ place: latin, report: () => undefined })).rejects.toMatchObject({
      code: "CONFIG_INVALID",
      message: expect.stringContaining("LATIN1"),
    });
  });

  it("says why the server refuses changes, once", async () => {
    await using place = await makePostgresPlace(server);
    const problems: string[] = [];
    await using store = await openPostgresStore({ place: { url: place.database.url }, report: (problem) => problems.push(problem) });
    await place.database.query("DROP TABLE belljar_versions");
    for (let time = 0; time < 2; time += 1) await expect(publish(store, ID)).rejects.toMatchObject(AWAY);
    expect(problems).toEqual([expect.stringContaining('relation "belljar_versions" does not exist')]);
  });

  it("holds a mebibyte of code, with every character that a text may have", async () => {
    await using place = await makePostgresPlace(server);
    await using store = await place.open();
    const odd = "\0\u0001\ud800'\";--\\ 🦄\u2028";
    const code = odd + "x".repeat(2 ** 20 - Buffer.byteLength(odd));
    const id = { owner: "🦄\0'; DROP TABLE belljar_units; --", name: "n\ud800".repeat(500) };
    const version = versionOf(1, { ...SPEC, code });
    await store.write(nextHead(id, undefined, version), 0, version);
    expect(await store.version(id.owner, id.name, 1)).toEqual(version);
    expect((await store.head(id.owner, id.name))?.name).toBe(id.name);
  });

  it("tells that anything may have changed where a name is too long to be told", async () => {
    await using place = await makePostgresPlace(server);
    await using store = await place.open();
    await using other = await place.open();
    const told = untilAnything(store);
    await publish(other, { owner: "\u0001".repeat(1_000), name: "\u0001".repeat(1_000) });
    await told;
  });

  it("leaves out damaged rows, says so once, and keeps the others", async () => {
    await using place = await makePostgresPlace(server);
    await using store = await place.open();
    const names = ["broken", "foreign", "older", "whole"];
    for (const name of names) await publish(store, { owner: "local", name });
    const { query } = place.database;
    await query("UPDATE belljar_units SET head = '{' WHERE id = '[\"local\",\"broken\"]'");
    await query("UPDATE belljar_units SET head = (SELECT head FROM belljar_units WHERE id LIKE '%whole%') WHERE id LIKE '%foreign%'");
    await query("UPDATE belljar_units SET revision = 7 WHERE id LIKE '%older%'");
    await query("UPDATE belljar_versions SET version = '{}'");
    for (let round = 0; round < 2; round += 1) expect((await store.heads()).map(({ name }) => name)).toEqual(["whole"]);
    expect(await store.head("local", "broken")).toBeUndefined();
    expect(await store.version("local", "whole", 1)).toBeUndefined();
    expect(place.problems).toHaveLength(4);
    expect(place.problems.join("\n")).toMatch(/broken.*\n.*foreign.*\n.*older.*\n.*Version 1 .*whole/);
    const id = { owner: "local", name: "broken" };
    await expect(store.write(nextHead(id, undefined, versionOf(1)), 0, versionOf(1))).rejects.toMatchObject({ code: "FILE_IO" });
    await expect(store.remove("local", "broken", 2)).rejects.toMatchObject({ code: "FILE_IO" });
  });

  it("refuses changes while the database is away, and reads all again when it is back", async () => {
    await using place = await makePostgresPlace(server);
    await using store = await place.open();
    const head = await publish(store, ID);
    await server.kill();
    const told = untilAnything(store);
    try {
      await expect(store.heads()).rejects.toMatchObject(AWAY);
      await expect(store.version(ID.owner, ID.name, 1)).rejects.toMatchObject(AWAY);
      await expect(store.write({ ...nextHead(ID, head), isShared: true }, 1)).rejects.toMatchObject(AWAY);
      await expect(store.remove(ID.owner, ID.name, 1)).rejects.toMatchObject(AWAY);
      const opening = place.open();
      await expect(opening).rejects.toMatchObject({ ...AWAY, message: expect.stringContaining(place.database.name) });
      await expect(opening).rejects.not.toMatchObject({ message: expect.stringContaining(PASSWORD) });
    } finally {
      await server.start();
    }
    await told;
    expect(await store.heads()).toEqual([head]);
    await publish(store, ID);
    expect(place.problems).toEqual([expect.stringMatching(/ is lost /), expect.stringMatching(/ is there again/)]);
    expect(place.problems.join()).not.toContain(PASSWORD);
  });

  it("tells a writer whom the end of the server meets in the middle, and has nothing of the change", async () => {
    await using place = await makePostgresPlace(server);
    await using store = await place.open();
    const head = await publish(store, ID);
    const blocking = new Client(place.database.url);
    blocking.on("error", () => undefined);
    await blocking.connect();
    await blocking.query("BEGIN; LOCK TABLE belljar_versions IN ACCESS EXCLUSIVE MODE");
    const told = untilAnything(store);
    const writing = expect(store.write(nextHead(ID, head, versionOf(2)), 1, versionOf(2))).rejects.toMatchObject(AWAY);
    await server.kill();
    await writing;
    await server.start();
    await told;
    expect(await store.heads()).toEqual([head]);
    expect(await store.version(ID.owner, ID.name, 2)).toBeUndefined();
    await publish(store, ID);
  });

  it("tells again what could not be read when it was told", async () => {
    await using place = await makePostgresPlace(server);
    await using store = await openPostgresStore({ place: { url: place.database.url }, report: () => undefined, pulseMs: 200 });
    await place.database.query("ALTER TABLE belljar_units RENAME TO elsewhere");
    await expect(store.heads()).rejects.toMatchObject(AWAY);
    await untilAnything(store);
    await place.database.query("ALTER TABLE elsewhere RENAME TO belljar_units");
    expect(await store.heads()).toEqual([]);
  });

  it("finds out that the connection on which it listens says nothing any more", async () => {
    await using place = await makePostgresPlace(server);
    await using store = await openPostgresStore({ place: { url: place.database.url }, report: () => undefined, pulseMs: 200 });
    // On a busy machine it has been asked already whether it lives.
    const [row] = await place.database.query(
      "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND (query LIKE 'LISTEN%' OR query = 'SELECT 1')",
    );
    const told = untilAnything(store);
    kill(Number(row?.["pid"]), "SIGSTOP");
    await told;
    kill(Number(row?.["pid"]), "SIGCONT");
    const heard = watchChanges(store.onChange.bind(store));
    await using other = await place.open();
    await publish(other, ID);
    await heard.until(ID);
    heard.stop();
  });

  it("checks the server's certificate if its address says so", async () => {
    await using own = await startPostgres({ tls: true });
    await using place = await makePostgresPlace(own);
    await using store = await place.open();
    await publish(store, ID);
    const connections = "SELECT bool_and(ssl) AS ssl, count(*)::int AS count FROM pg_stat_ssl JOIN pg_stat_activity USING (pid)";
    expect(await place.database.query(`${connections} WHERE application_name = 'belljar'`)).toEqual([{ ssl: true, count: 2 }]);
    const unknown = { url: place.database.url.replace(/&sslrootcert=.*/, "") };
    await expect(openPostgresStore({ place: unknown, report: () => undefined })).rejects.toMatchObject({
      ...AWAY,
      message: expect.stringContaining("self-signed certificate"),
    });
    const absent = { url: `${unknown.url}&sslrootcert=/nonexistent` };
    await expect(openPostgresStore({ place: absent, report: () => undefined })).rejects.toMatchObject({
      ...AWAY,
      message: expect.stringContaining("/nonexistent"),
    });
  });

  it("tells a wrong password to whoever starts it, and never says the right or the wrong one", async () => {
    await using place = await makePostgresPlace(server);
    const wrong = { url: place.database.url.replace(encodeURIComponent(PASSWORD), "wr0ng-passw0rd") };
    const refused = await openPostgresStore({ place: wrong, report: () => undefined }).catch((cause: unknown) => cause);
    expect(refused).toMatchObject({ ...AWAY, message: expect.stringContaining("password authentication failed") });
    expect(JSON.stringify(refused, Object.getOwnPropertyNames(refused))).not.toContain("wr0ng-passw0rd");
  });
});
