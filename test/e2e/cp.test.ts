import { execFileSync } from "node:child_process";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { CliHome } from "../support/belljar-cli.ts";
import { openCliHome } from "../support/belljar-cli.ts";

async function openSandbox(): Promise<CliHome> {
  const cli = await openCliHome();
  await cli.run(["create", "--name", "web"]);
  return cli;
}

/** The raw archive: `cli.run` reads text. */
function copyOutTo(cli: CliHome, path: string, file: string): string {
  const command = `node "${join(import.meta.dirname, "../../bin/belljar.js")}" cp "web:${path}" - > "${file}" && tar -tf "${file}"`;
  return execFileSync("sh", ["-c", command], { env: { ...process.env, BELLJAR_HOME: cli.home, BELLJAR_STORAGE: "home" } }).toString();
}

describe("belljar cp with -", () => {
  it("reads a tar archive from stdin, and writes one of a file or a folder", async () => {
    await using cli = await openSandbox();
    const folder = join(cli.folder, "tree");
    await mkdir(join(folder, "deep"), { recursive: true });
    await writeFile(join(folder, "deep/-a b.txt"), "deep\n");
    const archive = execFileSync("tar", ["-cf", "-", "-C", folder, "."]);
    await cli.run(["exec", "web", "mkdir", "in"]);
    expect(await cli.run(["cp", "-", "web:in"], { input: archive })).toMatchObject({ code: 0, stdout: "", stderr: "" });
    expect(await cli.run(["exec", "web", "cat", "in/deep/-a b.txt"])).toMatchObject({ stdout: "deep\n" });
    expect(copyOutTo(cli, "in/deep", join(cli.folder, "a.tar"))).toBe("deep/\ndeep/-a b.txt\n");
    expect(copyOutTo(cli, "in/deep/-a b.txt", join(cli.folder, "b.tar"))).toBe("-a b.txt\n");
  });

  it("fails with what tar says, made printable", async () => {
    await using cli = await openSandbox();
    const missing = await cli.run(["cp", "web:no\u001B[31mthing", "-"]);
    expect(missing).toMatchObject({ code: 1, stderr: expect.stringContaining("COMMAND_FAILED") });
    expect(missing.stderr).not.toContain("\u001B");
    expect(await cli.run(["cp", "-", "web:."], { input: "no archive" })).toMatchObject({ code: 1 });
    await writeFile(join(cli.folder, "a"), "a");
    const archive = execFileSync("tar", ["-cf", "-", "-C", cli.folder, "a"]);
    expect(await cli.run(["cp", "-", "web:nowhere"], { input: archive })).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("nowhere"),
    });
  });

  it("writes nothing outside the sandbox, whatever an archive names", async () => {
    await using cli = await openSandbox();
    await writeFile(join(cli.folder, "a"), "a");
    const hostile = execFileSync("tar", ["-cPf", "-", "-C", cli.folder, "--transform", `s,^a$,${cli.folder}/outside,`, "a"]);
    expect(execFileSync("tar", ["-tPf", "-"], { input: hostile }).toString()).toBe(`${cli.folder}/outside\n`);
    await cli.run(["cp", "-", "web:."], { input: hostile });
    expect(() => execFileSync("cat", [join(cli.folder, "outside")], { stdio: "pipe" })).toThrow("No such file");
  });

  it("says how many files and bytes a folder had", async () => {
    await using cli = await openSandbox();
    const folder = join(cli.folder, "two");
    await mkdir(folder);
    for (const name of ["a", "b"]) await writeFile(join(folder, name), "x".repeat(1024));
    expect(await cli.run(["cp", folder, "web:"])).toMatchObject({ code: 0, stderr: "2 files (2 KiB) copied to two\n" });
    expect(await cli.run(["cp", "web:two", "back"])).toMatchObject({
      code: 0,
      stderr: expect.stringMatching(/^2 files \(2 KiB\) copied to .*back\n$/),
    });
  });
});
