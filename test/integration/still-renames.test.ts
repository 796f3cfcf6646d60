import { chmod, mkdir, readdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { expect, it } from "vitest";
import { inEachIdMap } from "../security/support/id-maps.ts";
import { useLab } from "../security/support/lab.ts";
import { isRoot, newMark, processesOf } from "../security/support/outside.ts";

const lab = useLab();
const FOLDERS = 20;
const FILES = 300;

async function fill(path: string): Promise<void> {
  for (let folder = 0; folder < FOLDERS; folder++) {
    await mkdir(join(path, `old-${folder}`), { recursive: true });
    for (let file = 0; file < FILES; file++) await writeFile(join(path, `old-${folder}`, String(file)), "x");
  }
  await chmod(path, 0o755);
}

/** What the sandbox sees in its folder, read from outside through one of its processes. */
async function look(folder: string): Promise<readonly string[]> {
  const names = await readdir(folder);
  return Promise.all(names.map(async (name) => `${name.replace(/\d{1,20}$/, "")} ${(await readdir(join(folder, name))).length}`));
}

it.skipIf(!isRoot)("a sandbox that stands still shows no rename in the middle (only root sees its folders)", async () => {
  const path = join(dirname(lab.home), "still-renames");
  await fill(path);
  await inEachIdMap(
    lab,
    async (box) => {
      const mark = newMark();
      const signal = AbortSignal.timeout(60_000);
      const script = `for my $n (0..${FOLDERS - 1}) { rename("old-$n", "new-$n") or die $! } sleep 600`;
      const command = await box.guest.exec({ argv: ["perl", "-e", script, mark], stdin: false, signal });
      await expect.poll(() => processesOf(mark)).toHaveLength(1);
      const [pid] = await processesOf(mark);
      const seen = new Set<string>();
      for (let isDone = false; !isDone;) {
        const still = await box.guest.still(signal);
        const rows = await look(`/proc/${pid}/cwd`);
        await still.end();
        expect(rows).toHaveLength(FOLDERS);
        for (const row of rows) seen.add(row);
        isDone = rows.every((row) => row.startsWith("new"));
      }
      expect([...seen].toSorted()).toEqual([`new- ${FILES}`, `old- ${FILES}`]);
      command.kill(9);
    },
    { workspace: { path, mode: "copy" }, limits: { memoryBytes: 512 << 20, pids: 256, diskBytes: 256 << 20, openFiles: 1024 } },
  );
});
