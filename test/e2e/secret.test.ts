import { readFile, readdir } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import type { CliHome } from "../support/belljar-cli.ts";
import { openCliHome } from "../support/belljar-cli.ts";

const VALUE = "sk-planted-0123456789abcdef";

async function serve(cli: CliHome) {
  const server = cli.start(["serve", "--port", "0"]);
  const [, url = ""] = await server.says(/(http:\/\/\S+)\/mcp\b/);
  return { env: { BELLJAR_URL: url }, [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() };
}

/** The same commands on the home and through a server. */
async function exercise(cli: CliHome, env: Readonly<Record<string, string>> = {}): Promise<void> {
  expect(await cli.run(["secret", "list"], { env })).toMatchObject({ code: 0, stdout: "" });
  expect(await cli.run(["secret", "set", "openai"], { env, input: `${VALUE}\n` })).toEqual({ code: 0, stdout: "openai\n", stderr: "" });
  const listed = await cli.run(["secret", "list", "--json"], { env });
  expect(JSON.parse(listed.stdout)).toEqual([{ name: "openai", changedAt: expect.stringMatching(/^\d{4}-/) as string }]);
  expect(listed.stdout).not.toContain(VALUE);
  expect((await cli.run(["secret", "remove", "openai"], { env })).code).toBe(0);
  const again = await cli.run(["secret", "remove", "openai"], { env });
  expect(again).toMatchObject({ code: 1, stderr: expect.stringContaining("belljar secret list") as string });
}

it("sets, lists and removes secrets of the home", async () => {
  await using cli = await openCliHome();
  await exercise(cli);
});

it("sets, lists and removes secrets of a server", async () => {
  await using cli = await openCliHome();
  await using server = await serve(cli);
  await exercise(cli, server.env);
});

it("keeps the value out of the home's files, and out of what it says of a bad one", async () => {
  await using cli = await openCliHome();
  await cli.run(["secret", "set", "openai"], { input: VALUE });
  const files = (await readdir(cli.home, { recursive: true, withFileTypes: true })).filter((entry) => entry.isFile());
  expect(files.length).toBeGreaterThanOrEqual(2);
  for (const { parentPath, name } of files) expect(await readFile(join(parentPath, name), "utf8")).not.toContain(VALUE);
  const bad = await cli.run(["secret", "set", "openai"], { input: `${VALUE}\n${VALUE}\n` });
  expect(bad).toMatchObject({ code: 1, stdout: "", stderr: expect.stringContaining("one line") as string });
  expect(bad.stderr).not.toContain(VALUE);
});

it("takes no value from the command line, and does not repeat one", async () => {
  await using cli = await openCliHome();
  const refused = await cli.run(["secret", "set", "openai", VALUE]);
  expect(refused.code).toBe(2);
  expect(refused.stderr).not.toContain(VALUE);
});
