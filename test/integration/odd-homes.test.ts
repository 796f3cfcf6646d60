import { execFile } from "node:child_process";
import { chown, mkdir, readdir, rm, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { openRuntime } from "../../src/runtime/registry.ts";
import { createLocalSandboxes } from "../../src/sandbox/local-sandboxes.ts";
import { LOCAL } from "../../src/sandbox/sandbox.ts";
import { openCliHome } from "../support/belljar-cli.ts";
import { byName } from "../support/by-name.ts";

const run = promisify(execFile);
const isRoot = process.getuid?.() === 0;
const NOBODY = 65_534;
const signal = new AbortController().signal;

describe("a home", () => {
  it("may have a path of 200 bytes", async () => {
    await using cli = await openCliHome();
    const env = { BELLJAR_HOME: join(cli.folder, "h".repeat(200 - cli.folder.length - 1)) };
    const made = await cli.run(["sandbox", "create", "--json"], { env });
    const { id } = JSON.parse(made.stdout) as { id: string };
    expect(await cli.run(["exec", id, "--", "echo", "fine"], { env })).toMatchObject({ code: 0, stdout: "fine\n" });
    expect(await cli.run(["sandbox", "kill", id], { env })).toMatchObject({ code: 0 });
  });

  it("needs a runtime directory that is short enough for sockets", async () => {
    await using cli = await openCliHome();
    const tried = await cli.run(["sandbox", "create"], { env: { BELLJAR_RUNTIME_DIRECTORY: join(cli.folder, "r".repeat(80)) } });
    expect(tried).toMatchObject({ code: 1, stderr: expect.stringContaining("at most 60 characters") });
  });

  it.skipIf(!isRoot)("is not somebody else's (skipped without root, who alone gives files away)", async () => {
    await using cli = await openCliHome();
    const env = { BELLJAR_HOME: join(cli.folder, "nobodys") };
    await mkdir(env.BELLJAR_HOME);
    await chown(env.BELLJAR_HOME, NOBODY, NOBODY);
    const tried = await cli.run(["sandbox", "create"], { env });
    expect(tried).toMatchObject({ code: 1, stderr: expect.stringContaining(`belongs to uid ${NOBODY}`) });
    expect(await readdir(env.BELLJAR_HOME)).toEqual([]);
  });

  it.skipIf(!isRoot)(
    "says that its disk is full, and keeps nothing of what it could not make (skipped without root, who alone mounts)",
    async () => {
      await using cli = await openCliHome();
      const disk = join(cli.folder, "disk");
      await mkdir(disk);
      await run("mount", ["-t", "tmpfs", "-o", "size=64k", "none", disk]);
      try {
        const env = { BELLJAR_HOME: join(disk, "home") };
        await mkdir(env.BELLJAR_HOME);
        await expect(writeFile(join(disk, "filler"), Buffer.alloc(2 ** 20))).rejects.toMatchObject({ code: "ENOSPC" });
        expect(await cli.run(["sandbox", "create"], { env })).toMatchObject({ code: 1, stderr: expect.stringContaining("DISK_FULL") });
        expect(await readdir(join(env.BELLJAR_HOME, "sandboxes"))).toEqual([]);
      } finally {
        await run("umount", [disk]);
      }
    },
  );

  it("names the remedy when the native binary is missing", async () => {
    await using cli = await openCliHome();
    const binary = resolve(cli.folder, "no-such-binary");
    const runtime = await openRuntime("namespace", { home: cli.home, runtimeDirectory: join(cli.folder, "run"), storage: "tmpfs", binary });
    const config = { sandbox: { timeoutMs: 60_000 }, listMax: 10, tombstoneRetentionMs: 60_000 };
    await using sandboxes = createLocalSandboxes({ home: cli.home, runtimes: byName(runtime), config });
    const made = sandboxes.create(LOCAL, {}, signal);
    await expect(made).rejects.toMatchObject({ code: "RUNTIME_UNAVAILABLE", message: expect.stringContaining("npm run build") });
    await rm(join(cli.folder, "run"), { recursive: true });
  });
});
