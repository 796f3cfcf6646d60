import { execFileSync } from "node:child_process";
import { mkdir, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { type CliHome, openCliHome } from "../support/belljar-cli.ts";

async function withFile(cli: CliHome, content: unknown): Promise<void> {
  await writeFile(join(cli.folder, "isolator_config.json"), typeof content === "string" ? content : JSON.stringify(content));
}

const FILE = {
  defaultTimeoutSeconds: 20,
  defaultCapDrop: ["ALL"],
  languageSettings: { perl: { image: "perl:5-slim" } },
  promptsDir: "./prompts",
};
const WRITTEN = { program: { timeoutMs: "20s" }, languages: { perl: { template: "perl-5-slim" } } };

it("prints the configuration, and tells what became of each setting", async () => {
  await using cli = await openCliHome();
  await withFile(cli, FILE);
  const { code, stdout, stderr } = await cli.run(["config", "import", "isolator_config.json"]);
  expect(code).toBe(0);
  expect(JSON.parse(stdout)).toEqual({ ...WRITTEN, snippetsDirectory: join(cli.folder, "prompts") });
  expect(stderr.split("\n")).toEqual([
    "Taken over:",
    '  defaultTimeoutSeconds: program.timeoutMs = "20s"',
    '  languageSettings.perl (perl:5-slim): languages.perl.template = "perl-5-slim"',
    `  promptsDir: snippetsDirectory = "${join(cli.folder, "prompts")}"`,
    "Without a counterpart:",
    "  defaultCapDrop: programs have no capability outside of their sandbox",
    "Make these templates, which the languages run in:",
    expect.stringMatching(/^ {2}belljar template import perl-5-slim perl:5-slim --network docker\.io,registry-1\.docker\.io,/) as string,
    "",
  ]);
});

it("writes it to the home, where it then holds, and replaces nothing unasked", async () => {
  await using cli = await openCliHome();
  await withFile(cli, FILE);
  await mkdir(join(cli.folder, "prompts"));
  const path = join(cli.home, "config.json");
  const write = (...more: string[]) => cli.run(["config", "import", "isolator_config.json", "--write", ...more]);
  expect(await write()).toMatchObject({ code: 0, stdout: "", stderr: expect.stringContaining(`Wrote ${path}`) as string });
  expect(JSON.parse(await readFile(path, "utf8"))).toMatchObject(WRITTEN);
  expect((await stat(path)).mode & 0o777).toBe(0o600);
  await writeFile(join(cli.folder, "a.pl"), "print 1");
  expect((await cli.run(["run", "a.pl"])).stderr).toContain('runs perl in the template "perl-5-slim"');
  await withFile(cli, { defaultTimeoutSeconds: 7 });
  expect(await write()).toMatchObject({ code: 1, stdout: "", stderr: expect.stringMatching(/--force \(FILE_EXISTS\)/) as string });
  expect(JSON.parse(await readFile(path, "utf8"))).toMatchObject(WRITTEN);
  expect(await write("--force")).toMatchObject({ code: 0 });
  expect(JSON.parse(await readFile(path, "utf8"))).toEqual({ program: { timeoutMs: "7s" } });
});

it("refuses what it cannot read, and writes nothing", async () => {
  await using cli = await openCliHome();
  const refuse = async (file: string, says: RegExp, code = 1): Promise<void> => {
    const answer = await cli.run(["config", "import", file, "--write"]);
    expect(answer, file).toMatchObject({ code, stdout: "", stderr: expect.stringMatching(says) as string });
  };
  await refuse("none.json", /Cannot import .*none\.json: there is no such file \(FILE_NOT_FOUND\)/);
  await refuse(".", /Cannot import .*: it is no file, .*\(CONFIG_INVALID\)/);
  await refuse("/dev/zero", /it is no file, .*\(CONFIG_INVALID\)/);
  execFileSync("mkfifo", [join(cli.folder, "pipe")]);
  await refuse("pipe", /it is no file, .*\(CONFIG_INVALID\)/);
  await withFile(cli, { defaultMemoryMB: 1, defaultCpus: "\u001b[2J" });
  await refuse("isolator_config.json", /defaultMemoryMB: must be from 16 .*\n {2}defaultCpus: .*\(CONFIG_INVALID\)/s);
  await withFile(cli, { defaultCpus: 1, "\u001b[2Jtitle": 1 });
  expect((await cli.run(["config", "import", "isolator_config.json"])).stderr).toContain(
    String.raw`  \u{1b}[2Jtitle: Belljar does not know it`,
  );
  expect(await cli.run(["config", "import", "isolator_config.json", "--force"])).toMatchObject({ code: 2 });
  await expect(readFile(join(cli.home, "config.json"))).rejects.toThrow("ENOENT");
});
