import { execFileSync } from "node:child_process";
import { cp, lstat, mkdir, readdir, readFile, readlink, rename, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { expect } from "vitest";
import type { Sandbox } from "../../src/sandbox/sandbox.ts";
import { applyWorkspace } from "../../src/sandbox/workspace/apply-workspace.ts";
import { diffWorkspace } from "../../src/sandbox/workspace/workspace-diff.ts";
import { openSecretLab } from "../support/secret-lab.ts";
import { createTestTexts } from "../support/test-texts.ts";
import { verifies } from "./verifies.ts";

const signal = AbortSignal.timeout(120_000);

async function inside(sandbox: Sandbox, script: string): Promise<string> {
  const { stdout, stderr } = await sandbox.guest.run({ argv: ["bash", "-c", script], timeoutMs: 30_000, signal });
  return stdout.toString() + stderr.toString();
}

/** All that a sandbox can do to names, kinds, bits and attributes of what is taken out of it. */
const FORGED = `
cd /workspace
ln -s OUTSIDE/theirs link; ln -s OUTSIDE linked-folder; ln -s ../../../../etc/passwd up
touch -- "$(printf 'new\\nline')" "$(printf 'no-\\377-utf8')" ' .. ' '...' '-rf' '.belljar-aaaaaaaaaaaaaaaaaaaa'
mkfifo pipe; mknod whiteout c 0 0; rm -f kept; rm -rf folder; ln -s OUTSIDE folder
echo tool > tool; chmod 7777 tool; mkdir sticky; chmod 7777 sticky; ln tool hard
mkdir -p .git/hooks; echo 'touch OUTSIDE/ran' > .git/hooks/post-checkout; chmod 755 .git/hooks/post-checkout
truncate -s 1T sparse; rm sparse; truncate -s 1G sparse
python3 - <<'END'
import os, socket
socket.socket(socket.AF_UNIX).bind("socket")
for path in (".", "tool", "sticky", "link"):
    for name in ("opaque", "redirect", "metacopy", "whiteout", "whiteouts", "origin", "nlink"):
        for space in ("user.overlay.", "user.overlay.overlay.", "trusted.overlay."):
            try: os.setxattr(path, space + name, b"y" if name == "opaque" else b"/../../../../../etc", follow_symlinks=False)
            except OSError: pass
END
true`;

verifies(
  "apply-stays-inside",
  async () => {
    await using lab = await openSecretLab();
    using texts = createTestTexts();
    const project = join(dirname(lab.home), "project");
    const [inner, outside] = [join(project, "inner"), join(dirname(lab.home), "outside")];
    await Promise.all([mkdir(join(inner, "folder"), { recursive: true }), mkdir(outside)]);
    await Promise.all([
      writeFile(join(inner, "folder/mine"), "mine"),
      writeFile(join(inner, "kept"), "mine"),
      writeFile(join(outside, "theirs"), "theirs"),
    ]);
    // As whoever writes into a workspace for a sandbox: the name is another user's inside.
    for (const path of [project, inner, outside]) execFileSync("chmod", ["777", path]);
    const taken = await lab.sandbox({ workspace: { path: inner, mode: "copy" } });
    const writer = await lab.sandbox({ workspace: { path: project, mode: "rw" } });
    await inside(taken, FORGED.replaceAll("OUTSIDE", outside));
    const diff = await diffWorkspace(taken, { home: lab.home, texts, signal });
    expect(diff.skipped.map(({ path }) => path)).toEqual(expect.arrayContaining(["pipe", "socket"]));

    expect(await inside(writer, `mv inner moved && ln -s ${outside} inner && readlink inner`)).toBe(`${outside}\n`);
    await cp(join(outside, "theirs"), join(inner, "copied"));
    expect(await readdir(outside)).toEqual(["copied", "theirs"]);
    await rm(join(outside, "copied"));
    await expect(applyWorkspace(taken, diff, { home: lab.home, signal })).rejects.toThrow(
      expect.objectContaining({ code: "PATH_INVALID" }) as Error,
    );
    await expect(diffWorkspace(taken, { home: lab.home, texts, signal })).rejects.toThrow(
      expect.objectContaining({ code: "PATH_INVALID" }) as Error,
    );
    expect(await readdir(outside)).toEqual(["theirs"]);

    await rm(inner);
    await rename(join(project, "moved"), inner);
    const { outsideLinks } = await applyWorkspace(taken, await diffWorkspace(taken, { home: lab.home, texts, signal }), {
      home: lab.home,
      signal,
    });
    expect(outsideLinks.map(({ path }) => path).toSorted()).toEqual(["folder", "link", "linked-folder", "up"]);
    expect(await readdir(inner)).not.toContain(".git");
    expect(await readdir(outside)).toEqual(["theirs"]);
    expect(await readFile(join(outside, "theirs"), "utf8")).toBe("theirs");
    expect(await readlink(join(inner, "folder"))).toBe(outside);
    for (const name of ["tool", "hard", "sticky"]) expect((await lstat(join(inner, name))).mode & 0o7000).toBe(0);
    const strange = execFileSync("find", [inner, "-not", "-type", "f", "-not", "-type", "d", "-not", "-type", "l"], { encoding: "utf8" });
    expect(strange).toBe("");
    const attributes =
      "import os,sys\nfor a,d,f in os.walk(sys.argv[1]):\n  for n in d+f+['']: print(os.listxattr(os.path.join(a,n),follow_symlinks=False))";
    const listed = execFileSync("/usr/bin/python3", ["-c", attributes, inner], { encoding: "utf8" });
    expect(new Set(listed.trim().split("\n"))).toEqual(new Set(["[]"]));
  },
  180_000,
);
