import { chmod, symlink, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { expect } from "vitest";
import { createLocalSandboxes } from "../../src/sandbox/local-sandboxes.ts";
import type { Principal } from "../../src/sandbox/sandbox.ts";
import { LOCAL } from "../../src/sandbox/sandbox.ts";
import { byName } from "../support/by-name.ts";
import { openProjectFolder } from "../support/project-folder.ts";
import { useLab } from "./support/lab.ts";
import { verifies } from "./verifies.ts";

const lab = useLab();
const config = { sandbox: { timeoutMs: 60_000, pids: 64 }, listMax: 10, tombstoneRetentionMs: 60_000 };
/** All that programs inside can ask where they are. */
const LOOK = `
pwd -P; env; cat /proc/self/mountinfo /proc/self/mounts /proc/self/environ /proc/1/mountinfo 2> /dev/null | tr '\\0' '\\n'
readlink -f /workspace /proc/self/cwd; find / -path /proc -prune -o -print 2> /dev/null | grep belljar-project
cat .hidden`;

verifies("workspace-path-hidden", async () => {
  await using project = await openProjectFolder();
  await chmod(project.path, 0o755);
  await writeFile(join(project.path, ".hidden"), "it is this folder", { mode: 0o644 });
  await using sandboxes = createLocalSandboxes({ home: lab.home, runtimes: byName(lab.runtime), config });
  // Another path of the host that leads to it, as the person's spelling.
  await using spelled = await openProjectFolder();
  const spelling = join(spelled.path, "link");
  await symlink(project.path, spelling);
  const workspace = { path: project.path, mode: "copy", spelling } as const;
  const seenBy = async (principal: Principal): Promise<string> => {
    const signal = AbortSignal.timeout(60_000);
    const sandbox = await sandboxes.create(principal, { workspace }, signal);
    try {
      const seen = await Promise.all(["user", "root"].map((user) => sandbox.guest.run({ argv: ["sh", "-c", LOOK], user, signal })));
      return seen.map(({ stdout }) => stdout.toString()).join("\n");
    } finally {
      await sandbox.kill();
    }
  };
  const names = [basename(project.path), basename(spelled.path)];
  const local = await seenBy(LOCAL);
  expect(local).toContain("it is this folder");
  expect(local.split(names[0] ?? "").length).toBeGreaterThan(8);
  expect(local).toContain(`PWD=${spelling}`);
  const grants = { workspaces: [workspace] };
  for (const principal of [
    { id: "ada", name: "ada", grants },
    { id: "ada", name: "ada" },
    { ...LOCAL, grants },
  ]) {
    const seen = await seenBy(principal);
    expect(seen).toContain("it is this folder");
    expect(seen).toContain("/workspace\n");
    for (const name of names) expect(seen).not.toContain(name);
  }
});
