import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import type { CliHome } from "../support/belljar-cli.ts";
import { openCliHome } from "../support/belljar-cli.ts";

const MEMO = '@mcp.tool(description="Makes a memo")\ndef memo_create(title: str) -> str:\n    return title\n';
const BROKEN = "x = 1\ndef memo(:\n";
const SHELL = "printf '%s' \"$TEXT\"\n";

async function serve(cli: CliHome) {
  const server = cli.start(["serve", "--port", "0"]);
  const [, url = ""] = await server.says(/(http:\/\/\S+)\/mcp\b/);
  return { env: { BELLJAR_URL: url }, [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() };
}

function writeFolder(cli: CliHome): string {
  const folder = join(cli.folder, "tools");
  mkdirSync(join(folder, "echo"), { recursive: true });
  const parameters = { text: { type: "string" } };
  writeFileSync(join(folder, "echo/tool.sh"), `# ---\n# ${JSON.stringify({ description: "Repeats", parameters })}\n# ---\n${SHELL}`);
  writeFileSync(
    join(folder, "echo/tool.json"),
    JSON.stringify({ network: "none", tests: [{ arguments: { text: "a" }, expect: { text: "a" } }] }),
  );
  mkdirSync(join(folder, "untidy"));
  writeFileSync(join(folder, "untidy/tool.py"), MEMO);
  writeFileSync(join(folder, "untidy/tool.json"), '{\n  "network": 5\n}\n');
  return folder;
}

/** The same commands on the home and through a server. */
async function exercise(cli: CliHome, env: Readonly<Record<string, string>> = {}): Promise<void> {
  const file = join(cli.folder, "mcp-tool.json");
  const rows = [
    { mcp_tool_name: "memo.create", mcp_tool_code: MEMO },
    { mcp_tool_name: "broken", mcp_tool_code: BROKEN },
  ];
  writeFileSync(file, JSON.stringify(rows));
  const imported = await cli.run(["tool", "import", file], { env });
  expect(imported).toMatchObject({ code: 1, stdout: "added memo.create\n" });
  expect(imported.stderr).toMatch(/refused broken, line 2: .*\(TOOL_INVALID\)\n1 imported, 1 refused\n$/);

  const folder = writeFolder(cli);
  const second = await cli.run(["tool", "import", folder, "--json"], { env });
  expect([second.code, JSON.parse(second.stdout)]).toEqual([
    1,
    {
      tools: [
        { name: "echo", outcome: "added" },
        { name: "untidy", outcome: "refused", error: { code: "TOOL_INVALID", message: expect.stringContaining("tool.json, line 2") } },
      ],
    },
  ]);
  expect(await cli.run(["tool", "import", join(folder, "echo")], { env })).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("TOOL_NAME_TAKEN"),
  });
  expect(await cli.run(["tool", "import", join(folder, "echo"), "--update"], { env })).toMatchObject({
    code: 0,
    stdout: "unchanged echo\n",
    stderr: expect.stringMatching(/0 imported, 1 unchanged, 0 refused\n$/),
  });

  const exported = await cli.run(["tool", "export", "-o", "out"], { env });
  expect(exported).toMatchObject({ code: 0, stdout: "out/echo\nout/memo.create\n" });
  const out = join(cli.folder, "out");
  expect(readdirSync(join(out, "echo"))).toEqual(["tool.json", "tool.sh"]);
  expect(readFileSync(join(out, "memo.create/tool.py"), "utf8")).toBe(MEMO);
  writeFileSync(join(out, "memo.create/tool.py"), MEMO.replace("Makes", "Takes"));
  const again = await cli.run(["tool", "import", "out", "--update"], { env });
  expect(again).toMatchObject({ code: 0, stdout: "unchanged echo\nupdated memo.create\n" });
  const tools = JSON.parse((await cli.run(["tool", "list", "--json"], { env })).stdout);
  expect(tools).toMatchObject([
    { name: "echo", version: 1, state: "live" },
    { name: "memo.create", version: 2, state: "live", tools: [{ name: "memo_create", description: "Takes a memo" }] },
  ]);
  await cli.run(["tool", "disable", "echo"], { env });
  const back = await cli.run(["tool", "import", "out", "--update"], { env });
  expect(back).toMatchObject({ code: 0, stdout: "published echo\nunchanged memo.create\n" });
  expect(await cli.run(["tool", "export", "absent"], { env })).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("TOOL_NOT_FOUND"),
  });
}

it("imports and exports tools on the home, for whoever is named as their owner", async () => {
  await using cli = await openCliHome();
  await exercise(cli);
  const owned = await cli.run(["tool", "import", "out/echo", "--owner", "token:ci"]);
  expect(owned).toMatchObject({ code: 0, stdout: "added echo\n" });
  expect(readdirSync(join(cli.home, "tools")).filter((name) => name.startsWith("token"))).toHaveLength(1);
  expect(await cli.run(["tool", "import", "out", "--owner", "ci"])).toMatchObject({
    code: 2,
    stderr: expect.stringContaining("token:NAME"),
  });
});

it("imports and exports tools through a server, for its caller alone", async () => {
  await using cli = await openCliHome();
  await using server = await serve(cli);
  await exercise(cli, server.env);
  const owned = await cli.run(["tool", "import", "out", "--owner", "token:ci"], { env: server.env });
  expect(owned).toMatchObject({ code: 1, stderr: expect.stringContaining("NOT_SUPPORTED") });
});
