import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type CliHome, openCliHome } from "../support/belljar-cli.ts";
import { PASSWORD, POSTGRES_MISSING, type PostgresServer, startPostgres, type TestDatabase } from "../support/postgres-server.ts";

const SCRIPT = '# ---\n# { "description": "Says hello" }\n# ---\necho hello\n';

/** One of several servers, each with a home of its own, on one database. */
async function serve(cli: CliHome, { url }: TestDatabase) {
  const server = cli.start(["serve", "--port", "0"], { env: { DATABASE_URL: url } });
  const [, origin = ""] = await server.says(/serves MCP at (http:\/\/[^/]+)\/mcp/);
  return { origin, says: (pattern: RegExp) => server.says(pattern), [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() };
}

describe.skipIf(POSTGRES_MISSING !== "")(`the command line with a database${POSTGRES_MISSING}`, () => {
  let postgres: PostgresServer;
  beforeAll(async () => {
    postgres = await startPostgres();
  });
  afterAll(() => postgres?.[Symbol.asyncDispose]());

  it("tells the clients of one server of a tool that was added on another one, and calls it", async () => {
    await using one = await openCliHome();
    await using two = await openCliHome();
    const database = await postgres.database();
    await using first = await serve(one, database);
    await using second = await serve(two, database);
    const client = new Client({ name: "test", version: "1" });
    await client.connect(new StreamableHTTPClientTransport(new URL(`${first.origin}/mcp`)));
    const told = new Promise<void>((resolve) => client.setNotificationHandler("notifications/tools/list_changed", () => resolve()));
    await client.listTools();
    const file = join(two.folder, "hello.sh");
    await writeFile(file, SCRIPT);
    expect(await two.run(["tool", "add", file], { env: { BELLJAR_URL: second.origin } })).toMatchObject({ code: 0 });
    await told;
    expect((await client.listTools()).tools.map(({ name }) => name)).toContain("hello");
    expect(await client.callTool({ name: "hello", arguments: {} })).toMatchObject({ content: [{ type: "text", text: "hello" }] });
    await client.close();
  });

  it("keeps serving while the database is away, answers changes with 503, and says both", async () => {
    await using cli = await openCliHome();
    const database = await postgres.database();
    await using server = await serve(cli, database);
    const body = JSON.stringify({ name: "hello", language: "shell", code: SCRIPT });
    const add = () => fetch(`${server.origin}/v1/tools`, { method: "POST", headers: { "content-type": "application/json" }, body });
    const list = async () => (await fetch(`${server.origin}/v1/tools`)).json();
    expect((await add()).status).toBe(201);
    const before = await list();
    await postgres.kill();
    try {
      await server.says(/ is lost /);
      const refused = await add();
      expect([refused.status, await refused.json()]).toMatchObject([409, { error: { code: "TOOL_NAME_TAKEN" } }]);
      const removed = await fetch(`${server.origin}/v1/tools/hello`, { method: "DELETE" });
      expect([removed.status, await removed.json()]).toMatchObject([503, { error: { code: "TOOL_STORE_UNAVAILABLE", retryable: true } }]);
      expect(await list()).toEqual(before);
      expect((await fetch(`${server.origin}/health`)).status).toBe(200);
    } finally {
      await postgres.start();
    }
    await server.says(/ is there again/);
    expect((await fetch(`${server.origin}/v1/tools/hello`, { method: "DELETE" })).status).toBe(204);
  });

  it("does not start without its database, says which one, and never its password; files are as near as a variable", async () => {
    await using cli = await openCliHome();
    const { url } = await postgres.database();
    const gone = url.replace(/test_\d+$/, "no_such_database");
    const refused = await cli.run(["serve", "--port", "0"], { env: { DATABASE_URL: gone } });
    expect(refused).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/no_such_database.* does not exist.*STORE_IN_FILE=true.*TOOL_STORE_UNAVAILABLE/),
    });
    for (const secret of [PASSWORD, encodeURIComponent(PASSWORD)]) expect(refused.stderr).not.toContain(secret);
    const doctor = await cli.run(["doctor"], { env: { DATABASE_URL: gone, COLUMNS: "400" } });
    expect(doctor.stdout).toMatch(/MISSING {2}tool-store .*no_such_database/);
    for (const secret of [PASSWORD, encodeURIComponent(PASSWORD)]) expect(doctor.stdout + doctor.stderr).not.toContain(secret);
    expect((await cli.run(["doctor"], { env: { DATABASE_URL: url, COLUMNS: "400" } })).stdout).toMatch(/ok +tool-store .*PostgreSQL \d+/);
    expect(await cli.run(["tool", "list"], { env: { DATABASE_URL: gone, STORE_IN_FILE: "true" } })).toMatchObject({ code: 0 });
    expect(await cli.run(["sandbox", "list"], { env: { DATABASE_URL: gone } })).toMatchObject({ code: 0 });
  });
});
