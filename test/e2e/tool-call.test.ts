import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import type { CliHome } from "../support/belljar-cli.ts";
import { openCliHome } from "../support/belljar-cli.ts";
import { serveHome } from "../support/serve-home.ts";

const ADD = `from typing import Optional
@mcp.tool
def add(a: int, b: float = 1, tags: Optional[list[str]] = None) -> str:
    "Adds"
    if a == 0: raise ValueError("no zero")
    return f"{a!r} {b!r} {tags!r}"
`;
const SEVERAL = `@mcp.tool
def first() -> str: return "1"
@mcp.tool
def second(picture: bool) -> list: return ["text", Image(data=b"abc", format="png")] if picture else []
`;

type Run = (...argv: string[]) => ReturnType<CliHome["run"]>;

async function exercise(run: Run): Promise<void> {
  expect(await run("add", "add.py")).toMatchObject({ code: 0 });
  expect(await run("call", "add", "a=2", "tags=x", "tags=y=z")).toMatchObject({ code: 0, stdout: "2 1 ['x', 'y=z']\n" });
  const answer = await run("call", "add", "--json", '{"a": 3, "b": 0.5}');
  expect(JSON.parse(answer.stdout)).toMatchObject({ content: [{ type: "text", text: "3 0.5 None" }], isError: false });
  const failed = await run("call", "add", "a=0");
  expect([failed.code, failed.stdout]).toEqual([1, ""]);
  expect(failed.stderr).toContain("ValueError: no zero");
  expect(JSON.parse((await run("call", "add", "a=0", "--json")).stdout)).toMatchObject({ isError: true });
  expect(await run("call", "add", "a=x")).toMatchObject({ code: 2, stderr: expect.stringContaining("is not a whole number") });
  expect(await run("call", "add")).toMatchObject({ code: 1, stderr: expect.stringContaining("ARGUMENTS_INVALID") });
  expect(await run("call", "ad")).toMatchObject({ code: 1, stderr: expect.stringContaining('Did you mean "add"?') });
}

const files = (cli: CliHome): void => {
  writeFileSync(join(cli.folder, "add.py"), ADD);
  writeFileSync(join(cli.folder, "several.py"), SEVERAL);
};

it("calls a tool of the home", async () => {
  await using cli = await openCliHome();
  files(cli);
  await exercise((...argv) => cli.run(["tool", ...argv], { cwd: cli.folder }));
});

it("calls a tool through a server", async () => {
  await using cli = await openCliHome();
  files(cli);
  await using server = await serveHome(cli);
  await exercise((...argv) => cli.run(["tool", ...argv], { cwd: cli.folder, env: server.env }));
});

it("finds a tool by the name of what holds it, and says why callers do not have it", async () => {
  await using cli = await openCliHome();
  files(cli);
  const run: Run = (...argv) => cli.run(["tool", ...argv], { cwd: cli.folder });
  expect(await run("add", "several.py", "--name", "both", "--draft")).toMatchObject({ code: 0 });
  const refused = async (...argv: string[]) => {
    const { code, stderr } = await run("call", ...argv);
    return [code, stderr];
  };
  expect(await refused("both")).toEqual([1, expect.stringContaining('"both" is a draft: belljar tool publish both')]);
  expect(await run("publish", "both")).toMatchObject({ code: 0 });
  expect(await refused("both")).toEqual([2, expect.stringContaining('"both" has several tools, call one of them: first, second')]);
  expect(await run("call", "second", "picture=true")).toMatchObject({ code: 0, stdout: "text\n[image image/png 3 B]\n" });
  expect(await run("disable", "both")).toMatchObject({ code: 0 });
  expect(await refused("both")).toEqual([1, expect.stringContaining('"both" is disabled: belljar tool enable both')]);
  expect(await run("add", "add.py", "--name", "sum")).toMatchObject({ code: 0 });
  expect(await run("call", "sum", "a=1")).toMatchObject({ code: 0, stdout: "1 1 None\n" });
  const unserved = await cli.run(["tool", "call", "sum", "a=1"], { cwd: cli.folder, env: { BELLJAR_READ_ONLY: "true" } });
  expect(unserved).toMatchObject({ code: 1, stderr: expect.stringContaining("changes something where tools only read, or is outside") });
});
