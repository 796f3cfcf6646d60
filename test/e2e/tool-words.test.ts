import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { openCliHome } from "../support/belljar-cli.ts";

const script = (answer: string): string => `# ---\n# { "description": "Says it" }\n# ---\necho ${answer}\n`;

it("says what callers have after each change", async () => {
  await using cli = await openCliHome();
  const run = async (...argv: string[]) => {
    const { code, stdout, stderr } = await cli.run(["tool", ...argv], { cwd: cli.folder });
    expect([argv, code, stderr]).toEqual([argv, 0, expect.not.stringContaining("belljar:")]);
    return stdout;
  };
  for (const name of ["one", "two"]) writeFileSync(join(cli.folder, `${name}.sh`), script(name));
  await run("add", "one.sh", "--draft");
  expect(await run("publish", "one")).toBe("one: version 1 is live\n");
  await run("update", "one", "two.sh");
  expect(await run("rollback", "one", "1")).toBe("one: version 1 is live (newest 2)\n");
  expect(await run("disable", "one")).toBe("one: disabled, callers do not have it\n");
  expect(await run("enable", "one")).toBe("one: version 1 is live (newest 2)\n");
  expect(await run("share", "one")).toBe("one: version 1 is live (newest 2), shared with everybody\n");
  expect(await run("share", "one", "--off")).toBe("one: version 1 is live (newest 2)\n");
  expect(await run("logs", "one")).toMatch(/^0 calls since /);
});

it("names the file and the line of code that it cannot read", async () => {
  await using cli = await openCliHome();
  const refused = async (...argv: string[]) => (await cli.run(["tool", ...argv], { cwd: cli.folder })).stderr;
  writeFileSync(join(cli.folder, "bad.py"), "@mcp.tool\ndef bad(a: int):\n    return (\n");
  writeFileSync(join(cli.folder, "none.py"), "a = 1\n");
  writeFileSync(join(cli.folder, "good.sh"), script("good"));
  expect(await refused("add", "bad.py")).toContain("bad.py:3: SyntaxError");
  expect(await refused("add", "none.py")).toContain("none.py: The code has no tool");
  await cli.run(["tool", "add", "good.sh"], { cwd: cli.folder });
  expect(await refused("update", "good", "bad.py")).toContain("bad.py:3: SyntaxError");
});

it("names the help of the command that was typed", async () => {
  await using cli = await openCliHome();
  writeFileSync(join(cli.folder, "good.sh"), script("good"));
  for (const [argv, help] of [
    [["tool", "rollback", "good", "x"], "tool rollback"],
    [["tool", "add", "good.sh", "--secret", "A"], "tool add"],
    [["tool", "update", "good", "--secret", "A"], "tool update"],
    [["sandbox", "create", "--secret", "A"], "sandbox create"],
  ] as const)
    expect(await cli.run(argv, { cwd: cli.folder })).toMatchObject({
      code: 2,
      stderr: expect.stringContaining(`See: belljar ${help} --help`),
    });
});

it("completes the names of tools and the ids of tokens where these are wanted", async () => {
  await using cli = await openCliHome();
  writeFileSync(join(cli.folder, "good.sh"), script("good"));
  await cli.run(["tool", "add", "good.sh"], { cwd: cli.folder });
  const { stdout } = await cli.run(["token", "create", "ann", "--json"]);
  const { id } = JSON.parse(stdout) as { readonly id: string };
  const words = async (...argv: string[]) => (await cli.run(["completion", "words", "--", ...argv])).stdout;
  expect(await words("tool", "get", "go")).toBe("good\tlive shell\n");
  expect(await words("token", "revoke", id.slice(0, 2))).toMatch(new RegExp(`^${id}\\tann`));
});
