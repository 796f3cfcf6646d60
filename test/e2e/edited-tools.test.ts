import { mkdirSync, writeFileSync } from "node:fs";
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
