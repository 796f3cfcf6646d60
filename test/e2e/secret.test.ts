import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFile, readdir } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import type { CliHome } from "../support/belljar-cli.ts";
import { openCliHome } from "../support/belljar-cli.ts";

const ROOT = join(import.meta.dirname, "../..");
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

/** `belljar secret set openai` in a real terminal, where a person types once it asks. */
async function setInTerminal(
  cli: CliHome,
  typed: string,
): Promise<{ readonly code: number | null; readonly shown: string; readonly said: string }> {
  const command = [process.execPath, join(ROOT, "bin/belljar.js"), "secret", "set", "openai"];
  const env = { ...process.env, BELLJAR_HOME: cli.home, BELLJAR_SECRETS_KEY: "file", TERM: "dumb" };
  const child = spawn("python3", [join(ROOT, "test/fixtures/in-terminal.py"), "30", "100", ...command], { env });
  let [shown, said, hasTyped] = ["", "", false];
  child.stderr.on("data", (chunk: Buffer) => (said += chunk.toString()));
  child.stdout.on("data", (chunk: Buffer) => {
    shown += chunk.toString();
    if (hasTyped || !shown.includes("(not shown): ")) return;
    hasTyped = true;
    child.stdin.write(typed);
  });
  const [code] = (await once(child, "close")) as [number | null];
  return { code, shown, said };
}

it("asks at a terminal and shows nothing of what is typed", async () => {
  await using cli = await openCliHome();
  const { code, shown, said } = await setInTerminal(cli, `${VALUE}\r`);
  expect({ code, said }).toEqual({ code: 0, said: "restored\n" });
  expect(shown).toBe("Value of openai (not shown): \r\nopenai\r\n");
  expect((await cli.run(["secret", "list", "--json"])).stdout).toContain('"openai"');
});

it("stores nothing when the prompt is left with Ctrl+C", async () => {
  await using cli = await openCliHome();
  const { code, said } = await setInTerminal(cli, "sk-half\u0003");
  expect({ code, said }).toEqual({ code: 130, said: "restored\n" });
  expect((await cli.run(["secret", "list", "--json"])).stdout).toBe("[]\n");
});
