import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import type { CliHome } from "../support/belljar-cli.ts";
import { openCliHome } from "../support/belljar-cli.ts";
import { serveHome } from "../support/serve-home.ts";

const script = (answer: string): string => `# ---\n# { "description": "Says it" }\n# ---\necho ${answer}\n`;

/** The same commands on the home and through a server. */
async function exercise(cli: CliHome, env: Readonly<Record<string, string>> = {}): Promise<void> {
  const run = async (...argv: string[]) => cli.run(["tool", ...argv], { env });
  const shown = async () => JSON.parse((await run("get", "says", "--json")).stdout) as Record<string, unknown>;
  writeFileSync(join(cli.folder, "says.sh"), script("one"));
  writeFileSync(join(cli.folder, "two.sh"), script("two"));
  writeFileSync(join(cli.folder, "tests.json"), JSON.stringify([{ arguments: {}, expect: { text: "one" } }]));
  expect(await run("add", "says.sh", "--tests", "tests.json", "--pids", "32", "--timeout", "9s")).toMatchObject({ code: 0 });
  expect(await run("update", "says", "two.sh")).toMatchObject({ code: 1, stderr: expect.stringContaining("TOOL_TESTS_FAILED") });
  expect(await run("update", "says", "two.sh", "--clear", "tests", "--clear", "timeout", "--open-files", "256")).toMatchObject({ code: 0 });
  const second = await shown();
  expect(second).toMatchObject({ version: 2, code: script("two"), limits: { pids: 32, openFiles: 256 } });
  expect([second["tests"], second["timeoutMs"]]).toEqual([undefined, undefined]);
  const more = ["--reuse", "session", "--clear", "limits", "--calls", "read_file", "--calls", "run_command"];
  expect(await run("update", "says", ...more)).toMatchObject({ code: 0 });
  expect(await shown()).toMatchObject({ version: 3, code: script("two"), reuse: "session", calls: ["read_file", "run_command"] });
  expect((await shown())["limits"]).toBeUndefined();
  expect(await run("update", "says", "--deps")).toMatchObject({ code: 0 });
  expect(await shown()).toMatchObject({ version: 3, newest: 3 });
  for (const refused of [[], ["--clear", "code"], ["--clear", "network", "--network", "none"]])
    expect((await run("update", "says", ...refused)).code).toBe(2);
}

it("changes a tool of the home, and keeps what is not named", async () => {
  await using cli = await openCliHome();
  await exercise(cli);
});

it("changes a tool through a server, and keeps what is not named", async () => {
  await using cli = await openCliHome();
  await using server = await serveHome(cli);
  await exercise(cli, server.env);
});

it("refuses files that are none, that are too large, and tests of no form, before anything runs", async () => {
  await using cli = await openCliHome();
  const refused = async (...argv: string[]) => {
    const { code, stderr } = await cli.run(["tool", ...argv]);
    expect([code, stderr]).toEqual([2, expect.not.stringContaining("    at ")]);
    return stderr;
  };
  execFileSync("mkfifo", [join(cli.folder, "pipe.py")]);
  expect(await refused("add", "pipe.py")).toContain("pipe.py is no file");
  writeFileSync(join(cli.folder, "huge.py"), Buffer.alloc(2 ** 20 + 1, "#"));
  expect(await refused("add", "huge.py")).toContain("huge.py has 1048577 bytes; it may have 1048576");
  expect(await refused("add", "missing.py")).toContain("There is no file missing.py");
  writeFileSync(join(cli.folder, "says.sh"), script("one"));
  for (const [tests, problem] of [
    [[{ arguments: {} }], "Test 1 of tests.json: expect: "],
    [[{ arguments: {}, expect: {} }, 1], "Test 2 of tests.json: "],
    [{}, "holds no JSON list of tests"],
  ] as const) {
    writeFileSync(join(cli.folder, "tests.json"), JSON.stringify(tests));
    expect(await refused("add", "says.sh", "--tests", "tests.json")).toContain(problem);
  }
});

it("calls JavaScript that does not name itself as its file", async () => {
  await using cli = await openCliHome();
  const code = 'export default defineTool({ description: "Says hello", run: () => "hello" });';
  writeFileSync(join(cli.folder, "greeting.js"), code);
  expect(await cli.run(["tool", "add", "greeting.js"])).toMatchObject({ code: 0, stdout: "greeting\n" });
  const { stdout } = await cli.run(["tool", "get", "greeting"]);
  expect(stdout).toMatch(/^versions +1 \(was live\)$/m);
  expect(stdout).toMatch(/^tool +greeting /m);
});
