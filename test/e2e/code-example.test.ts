import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { openCliHome } from "../support/belljar-cli.ts";
import { findDebianMirrors } from "../support/debian-mirrors.ts";

const ROOT = join(import.meta.dirname, "../..");
const EXAMPLE = join(ROOT, "examples/templates/code");
const { reason } = await findDebianMirrors();

/** What its README says makes the template. */
function buildCommands(): readonly (readonly string[])[] {
  const readme = readFileSync(join(EXAMPLE, "README.md"), "utf8");
  return [...readme.matchAll(/^node bin\/belljar\.js (template .*)$/gm)].map(([, argv = ""]) => argv.split(" "));
}

it("the example for analyses draws a chart and shows a frame through run_code", { timeout: 600_000 }, async ({ skip }) => {
  skip(reason !== undefined, reason);
  await using cli = await openCliHome();
  const commands = buildCommands();
  expect(commands.map(([, verb]) => verb)).toEqual(["import", "build"]);
  for (const argv of commands) {
    const { code, stderr } = await cli.run(argv, { cwd: ROOT });
    expect(code, stderr.slice(-2_000)).toBe(0);
  }
  await using server = cli.start(["serve", "--port", "0"]);
  const [, url = ""] = await server.says(/serves MCP at (http:\/\/[^/]+)\/mcp/);
  const sandbox = (await cli.run(["sandbox", "create", "--template", "code"])).stdout.trim();
  const code = readFileSync(join(EXAMPLE, "chart.py"), "utf8");
  const answer = await fetch(`${url}/tools/call`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ name: "run_code", arguments: { sandbox, code } }),
  });
  const png = expect.stringMatching(/^iVBORw0KGgo/) as string;
  const table = { columns: ["month", "sold"], total_rows: 3 };
  expect(await answer.json()).toMatchObject({
    isError: false,
    value: {
      results: [
        { type: "display", data: { "image/png": png } },
        { type: "result", data: { "application/vnd.belljar.table+json": table } },
      ],
    },
  });
});
