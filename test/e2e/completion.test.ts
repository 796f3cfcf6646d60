import { execFileSync, spawnSync } from "node:child_process";
import { chmod, mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { CliHome } from "../support/belljar-cli.ts";
import { openCliHome } from "../support/belljar-cli.ts";
import { CLI } from "../support/served-home.ts";

/** `belljar` on the PATH, as a shell calls it. */
async function openPath(cli: CliHome): Promise<NodeJS.ProcessEnv> {
  const folder = join(cli.folder, "bin");
  await mkdir(folder);
  await writeFile(join(folder, "belljar"), `#!/bin/sh\nexec "${process.execPath}" "${CLI}" "$@"\n`);
  await chmod(join(folder, "belljar"), 0o755);
  return { ...process.env, PATH: `${folder}:${process.env["PATH"]}`, BELLJAR_HOME: cli.home, BELLJAR_STORAGE: "home" };
}

function has(shell: string): boolean {
  const isThere = spawnSync(shell, ["--version"]).status === 0;
  if (!isThere) process.stderr.write(`${shell} is not installed: its completion is not run\n`);
  return isThere;
}

describe("belljar completion", () => {
  it("completes commands, sandboxes and files in bash", async () => {
    await using cli = await openCliHome();
    const env = await openPath(cli);
    await cli.run(["create", "--name", "web-server"]);
    await writeFile(join(cli.folder, "a file.py"), "");
    const completed = (...words: string[]): string[] => {
      const script =
        'eval "$(belljar completion bash)"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _belljar; printf "%s\\n" "${COMPREPLY[@]}"';
      return execFileSync("bash", ["-c", script, "bash", "belljar", ...words], { env, cwd: cli.folder })
        .toString()
        .trim()
        .split("\n");
    };
    expect(completed("sandbox", "ki")).toEqual(["kill"]);
    expect(completed("exec", "web")).toEqual(["web-server"]);
    expect(completed("run", "a")).toEqual(["a file.py"]);
  });

  it.skipIf(!has("zsh"))("is read by zsh", async () => {
    await using cli = await openCliHome();
    const { stdout } = await cli.run(["completion", "zsh"]);
    expect(spawnSync("zsh", ["-n"], { input: stdout })).toMatchObject({ status: 0 });
  });

  it.skipIf(!has("fish"))("is read by fish", async () => {
    await using cli = await openCliHome();
    const { stdout } = await cli.run(["completion", "fish"]);
    expect(spawnSync("fish", ["--no-execute"], { input: stdout })).toMatchObject({ status: 0 });
  });

  it("knows no other shell", async () => {
    await using cli = await openCliHome();
    expect(await cli.run(["completion", "tcsh"])).toMatchObject({ code: 2, stderr: expect.stringContaining("bash, zsh, fish") });
  });

  it.skipIf(!has("groff"))("goes with a man page that groff finds no fault with", async () => {
    const page = join(import.meta.dirname, "../../docs/reference/belljar.1");
    const { status, stderr, stdout } = spawnSync("groff", ["-man", "-Tutf8", "-ww", "-P-cbou", page]);
    expect({ status, stderr: stderr.toString() }).toEqual({ status: 0, stderr: "" });
    expect(stdout.toString()).toContain("belljar sandbox kill ID...");
  });
});
