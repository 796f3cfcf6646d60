import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { LOCAL } from "../../../src/sandbox/sandbox.ts";
import { POSTGRES_MISSING, type PostgresServer, startPostgres, type TestDatabase } from "../../support/postgres-server.ts";
import { openToolsLab, textOf, type ToolsProcess } from "../../support/tools-lab.ts";

const script = (answer: string): string => `# ---\n# { "description": "Says something" }\n# ---\necho ${answer}\n`;
const python = (name: string): string =>
  `@mcp.tool(description="Says hello")\ndef ${name}(whom: str = "you") -> str:\n    return "hello " + whom\n`;
const AWAY = { code: "TOOL_STORE_UNAVAILABLE" };
const signal = AbortSignal.timeout(600_000);

/** Resolves once the condition holds after a change of what callers have. */
function until({ catalog }: ToolsProcess, holds: () => boolean): Promise<void> {
  return new Promise((resolve) => {
    const look = (): void => {
      if (!holds()) return;
      stop();
      resolve();
    };
    const stop = catalog.onChange(look);
    look();
  });
}

/** Resolves with all problems until so many were told. */
function problemsOf(process: ToolsProcess, count: number): Promise<readonly string[]> {
  const told: string[] = [];
  return new Promise((resolve) => process.onProblem((problem) => told.push(problem) === count && resolve(told)));
}

async function makeTable({ query }: TestDatabase, rows: readonly (readonly [id: string, name: string | null, code: string | null])[]) {
  await query("CREATE TABLE agents_mcp_box (id VARCHAR PRIMARY KEY, user_id VARCHAR, mcp_tool_name VARCHAR, mcp_tool_code TEXT)");
  for (const row of rows) await query("INSERT INTO agents_mcp_box VALUES ($1, 'test', $2, $3)", row);
}

describe.skipIf(POSTGRES_MISSING !== "")(`users' tools in PostgreSQL${POSTGRES_MISSING}`, () => {
  let server: PostgresServer;
  beforeAll(async () => {
    server = await startPostgres();
  });
  afterAll(() => server?.[Symbol.asyncDispose]());

  it("are those of every process, and each follows what another one changes", async () => {
    const { url: database } = await server.database();
    await using lab = await openToolsLab({ database });
    const another = await lab.another();
    const seen = until(another, () => another.names().includes("greet"));
    await lab.add(script("one"), { name: "greet", language: "shell" });
    await seen;
    expect(textOf(await another.call("greet"))).toBe("one");
    const gone = until(lab, () => !lab.names().includes("greet"));
    await another.tools.remove(LOCAL, "greet");
    await gone;
    expect(await lab.tools.list(LOCAL)).toEqual({ tools: [] });
  });

  it("are listed and called from memory while the database is away, and cannot be changed", async () => {
    const { url: database } = await server.database();
    await using lab = await openToolsLab({ database });
    await lab.add(script("live"), { name: "live", language: "shell" });
    await lab.tools.add(LOCAL, { name: "draft", spec: { language: "shell", code: script("draft") } }, signal);
    await lab.add(script("off"), { name: "off", language: "shell" });
    await lab.tools.setDisabled(LOCAL, "off", true);
    const { tools: before } = await lab.tools.list(LOCAL);
    const lost = new Promise<void>((resolve) => lab.onProblem((problem) => problem.includes(" is lost ") && resolve()));
    await server.kill();
    try {
      await lost;
      expect(lab.names()).toEqual(["live"]);
      expect(textOf(await lab.call("live"))).toBe("live");
      expect((await lab.tools.list(LOCAL)).tools).toMatchObject(before.map(({ name, state, tools }) => ({ name, state, tools })));
      expect(await lab.tools.get(LOCAL, "live")).toMatchObject({ code: script("live") });
      await expect(lab.tools.get(LOCAL, "draft")).rejects.toMatchObject(AWAY);
      await expect(lab.add(script("new"), { name: "new", language: "shell" })).rejects.toMatchObject(AWAY);
      await expect(lab.tools.setDisabled(LOCAL, "live", true)).rejects.toMatchObject(AWAY);
      await expect(lab.tools.remove(LOCAL, "draft")).rejects.toMatchObject(AWAY);
      expect(textOf(await lab.call("live"))).toBe("live");
    } finally {
      await server.start();
    }
    const another = await lab.another();
    await until(another, () => another.names().includes("live"));
    const seen = until(lab, () => lab.names().includes("new"));
    await another.add(script("new"), { name: "new", language: "shell" });
    await seen;
    await lab.tools.publish(LOCAL, "draft", signal);
    expect(textOf(await lab.call("draft"))).toBe("draft");
  });

  it("have what another process changed while this one could not hear of it", async () => {
    const database = await server.database();
    await using lab = await openToolsLab({ database: database.url });
    await lab.add(script("one"), { name: "first", language: "shell" });
    // What another server's change leaves, without its notice.
    await database.query("DELETE FROM belljar_units");
    const gone = until(lab, () => !lab.names().includes("first"));
    await database.query(
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'LISTEN%'",
    );
    await gone;
  });

  it("are taken over from MCP Box's table by one process of several, and by another one if that is closed", async () => {
    const database = await server.database();
    await makeTable(database, [
      ["1", "hello", python("hello")],
      ["1a", "last", python("last")],
    ]);
    const problems: string[] = [];
    {
      await using lab = await openToolsLab({ database: database.url });
      const processes = [lab, await lab.another(), await lab.another()];
      for (const process of processes) process.onProblem((problem) => problems.push(problem));
      const taken = Promise.all(processes.map((process) => until(process, () => process.names().includes("last"))));
      for (const { tools } of processes) tools.followEdits();
      await taken;
    }
    expect(problems).toEqual([]);
    await database.query("INSERT INTO agents_mcp_box VALUES ('2', 'test', 'slow', $1)", [
      `import time\ntime.sleep(3600)\n${python("slow")}`,
    ]);
    await database.query("INSERT INTO agents_mcp_box VALUES ('3', 'test', 'next', $1)", [python("next")]);
    {
      await using lab = await openToolsLab({ database: database.url });
      lab.onProblem((problem) => problems.push(problem));
      lab.tools.followEdits();
    }
    expect(problems).toEqual([]);
    expect(await database.query("SELECT source FROM belljar_taken_over")).toEqual([{ source: "1" }, { source: "1a" }]);
    await database.query("DELETE FROM agents_mcp_box WHERE id = '2'");
    await using lab = await openToolsLab({ database: database.url });
    const taken = until(lab, () => lab.names().includes("next"));
    lab.tools.followEdits();
    await taken;
  });

  it("take over MCP Box's table once, say which rows they cannot, and store nothing of those", async () => {
    const database = await server.database();
    await makeTable(database, [
      ["1", "hello", python("hello")],
      ["2", "memo.create", python("memo_create")],
      ["3", "broken", "@mcp.tool\ndef broken(:\n"],
      ["4", "../../etc", python("climber")],
      ["5", "hello", python("again")],
      ["6", "nothing", null],
      ["7", null, python("unnamed")],
      ["8", "packages", `"""<requirements>\nno-such-package\n</requirements>"""\n${python("packages")}`],
    ]);
    {
      await using lab = await openToolsLab({ database: database.url, packages: { indexUrl: "/nonexistent" } });
      const refused = problemsOf(lab, 5);
      const taken = until(lab, () => lab.names().includes("unnamed"));
      lab.tools.followEdits();
      await taken;
      expect(await refused).toEqual([
        expect.stringMatching(/"broken" of MCP Box is not taken over: broken, line 2/),
        expect.stringMatching(/"..\/..\/etc" of MCP Box is not taken over: The name/),
        expect.stringMatching(/"hello" of MCP Box is not taken over: You have a tool "hello" already/),
        expect.stringMatching(/"nothing" of MCP Box is not taken over: it has no code/),
        expect.stringMatching(/"packages" of MCP Box is not taken over/),
      ]);
      expect((await lab.tools.list(LOCAL)).tools.map(({ name, state }) => [name, state])).toEqual([
        ["hello", "live"],
        ["memo.create", "live"],
        ["unnamed", "live"],
      ]);
      expect(textOf(await lab.call("memo_create", { whom: "Ada" }))).toBe("hello Ada");
      await lab.tools.remove(LOCAL, "hello");
    }
    expect(await database.query("SELECT source, outcome FROM belljar_taken_over ORDER BY source")).toEqual([
      { source: "1", outcome: "added" },
      { source: "2", outcome: "added" },
      { source: "5", outcome: "TOOL_NAME_TAKEN" },
      { source: "7", outcome: "added" },
    ]);
    expect(await database.query("SELECT count(*)::int AS rows FROM agents_mcp_box")).toEqual([{ rows: 8 }]);
    await database.query("INSERT INTO agents_mcp_box VALUES ('9', 'test', 'later', $1)", [python("later")]);
    await using lab = await openToolsLab({ database: database.url, packages: { indexUrl: "/nonexistent" } });
    const taken = until(lab, () => lab.names().includes("later"));
    const again = problemsOf(lab, 4);
    lab.tools.followEdits();
    await taken;
    expect((await again).map((problem) => /"[^"]*"/.exec(problem)?.[0])).toEqual(['"broken"', '"../../etc"', '"nothing"', '"packages"']);
    expect((await lab.tools.list(LOCAL)).tools.map(({ name }) => name)).toEqual(["later", "memo.create", "unnamed"]);
  });
});
