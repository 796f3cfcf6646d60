import { existsSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { openCliHome } from "../support/belljar-cli.ts";

const javascript = (answer: string): string => `export default defineTool({ description: "", run: () => "${answer}" });\n`;
const BROKEN = "const a = 1;\nexport default {";

it("shows in the list what is wrong with edits, through a server and on the home itself", async () => {
  await using cli = await openCliHome();
  const folder = (name: string): string => join(cli.home, "tools/local", name);
  writeFileSync(join(cli.folder, "broken.js"), javascript("one"));
  expect(await cli.run(["tool", "add", "broken.js", "--name", "broken"])).toMatchObject({ code: 0 });
  writeFileSync(join(folder("broken"), "tool.js"), BROKEN);
  for (const name of ["made", "untidy"]) mkdirSync(folder(name));
  writeFileSync(join(folder("made"), "tool.sh"), '# ---\n# { "description": "Waits" }\n# ---\ntrue\n');
  writeFileSync(join(folder("untidy"), "tool.js"), javascript("two"));
  writeFileSync(join(folder("untidy"), "tool.json"), '{\n  "network": 5\n}\n');
  const problems = (text: string): readonly string[] => text.split("\n").filter((line) => /^(broken|made|untidy):/.test(line));
  const wrong = [expect.stringMatching(/^broken: tool\.js, line 2: SyntaxError/), expect.stringMatching(/^untidy: tool\.json, line 2: /)];

  const alone = await cli.run(["tool", "list"]);
  expect([alone.code, problems(alone.stderr)]).toEqual([
    0,
    [wrong[0], expect.stringMatching(/^made: tool\.sh: it was edited by hand.*belljar serve/), wrong[1]],
  ]);
  expect(alone.stdout).toMatch(/^broken +live +1 /m);
  expect(JSON.parse((await cli.run(["tool", "get", "broken", "--json"])).stdout)).toMatchObject({
    version: 1,
    schema_error: { file: "tool.js", line: 2 },
  });

  await using server = cli.start(["serve", "--port", "0"]);
  const [, url = ""] = await server.says(/(http:\/\/\S+)\/mcp\b/);
  const env = { BELLJAR_URL: url };
  for (const name of ["broken", "untidy"]) await server.says(new RegExp(`The edit of the tool .*${name}.* was not taken up`));
  const served = await cli.run(["tool", "list"], { env });
  expect(problems(served.stderr)).toEqual(wrong);
  expect(served.stdout).toMatch(/^broken +live +1 /m);
  const logs = await cli.run(["tool", "logs", "broken"], { env });
  expect(logs.stdout).toMatch(/^0 calls since \d{4}-\d\d-\d\dT\S+Z, 0 failed/);
}, 120_000);

it("removes no tool of a folder that would bring it back, and says where it lies", async () => {
  await using cli = await openCliHome();
  const tools = join(cli.folder, "mine");
  mkdirSync(join(tools, "kept"), { recursive: true });
  writeFileSync(join(tools, "says.js"), javascript("one"));
  writeFileSync(join(tools, "kept", "tool.js"), javascript("two"));
  for (const file of ["says.js", "kept/tool.js"])
    expect(await cli.run(["tool", "add", join(tools, file), "--name", file.split(/[./]/)[0] ?? ""])).toMatchObject({ code: 0 });
  const env = { BELLJAR_TOOLS_DIRECTORY: tools };
  const removed = await cli.run(["tool", "remove", "says", "kept"], { env });
  expect(removed).toMatchObject({ code: 1, stdout: "" });
  for (const place of [join(tools, "says.js"), join(tools, "kept")])
    expect(removed.stderr).toContain(`comes from ${place}: remove that, and the tool goes with it, or disable the tool (TOOL_IN_FOLDER)`);
  rmSync(join(tools, "kept"), { recursive: true });
  expect(await cli.run(["tool", "remove", "kept"], { env })).toMatchObject({ code: 0, stdout: "kept\n" });
}, 60_000);

it("says which files stay of a tool that is removed after they were changed by hand", async () => {
  await using cli = await openCliHome();
  writeFileSync(join(cli.folder, "says.js"), javascript("one"));
  const folder = join(cli.home, "tools/local/says");
  const add = () => cli.run(["tool", "add", "says.js"], { cwd: cli.folder });
  expect(await add()).toMatchObject({ code: 0 });
  expect(await cli.run(["tool", "remove", "says"])).toEqual({ code: 0, stdout: "says\n", stderr: "" });
  expect(existsSync(folder)).toBe(false);
  expect(await add()).toMatchObject({ code: 0 });
  writeFileSync(join(folder, "tool.json"), "{");
  const removed = await cli.run(["tool", "remove", "says"]);
  expect(removed).toMatchObject({
    code: 0,
    stdout: "says\n",
    stderr: expect.stringContaining(`Its files in ${folder} were changed by hand and stay`),
  });
  expect(existsSync(folder)).toBe(true);
}, 60_000);
