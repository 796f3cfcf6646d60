import { execFile } from "node:child_process";
import { randomUUID } from "node:crypto";
import { constants, copyFile, mkdir, mkdtemp, rm, truncate, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);
/** Both are sparse. A pool needs a gigabyte. */
const DISK_BYTES = 3 * 2 ** 30;
const OUTER_BYTES = 8 * 2 ** 30;

/**
 * A disk with a journal (ext4), on a loop device whose file is a reflink away from a copy: what was written to the device at that moment, and
 * nothing of what still waits in the memory of the file systems above it. Only root can have one.
 */
export interface CutDisk extends AsyncDisposable {
  /** Where it is mounted. */
  readonly folder: string;
  /** The power is cut: a copy of the disk. Give its path to `enter`. */
  cut(): Promise<string>;
  /** Unmounts the disk. Nothing on it is in use. */
  unmount(): Promise<void>;
  /** A command that runs the command after it on the machine as it is after that cut: with that disk in the place of this one, and another boot. */
  enter(copy: string): Promise<readonly string[]>;
}

export async function openCutDisk(): Promise<CutDisk> {
  const root = await mkdtemp(join(tmpdir(), "bj-cut-"));
  const [outer, folder] = [join(root, "outer"), join(root, "disk")];
  const disk = join(outer, "disk.img");
  for (const path of [outer, folder]) await mkdir(path);
  await makeImage(`${outer}.img`, OUTER_BYTES, ["mkfs.btrfs", "--quiet", "--nodiscard"]);
  await run("mount", ["-o", "loop", `${outer}.img`, outer]);
  await makeImage(disk, DISK_BYTES, ["mkfs.ext4", "-q", "-E", "nodiscard"]);
  const { stdout: device } = await run("losetup", ["--find", "--show", "--direct-io=on", disk]);
  await run("mount", [device.trim(), folder]);
  let isMounted = true;
  let count = 0;
  const unmount = async (): Promise<void> => {
    if (!isMounted) return;
    await run("umount", [folder]);
    await run("losetup", ["--detach", device.trim()]);
    isMounted = false;
  };
  return {
    folder,
    unmount,
    async cut() {
      const copy = join(outer, `cut-${(count += 1)}.img`);
      await copyFile(disk, copy, constants.COPYFILE_FICLONE_FORCE);
      return copy;
    },
    async enter(copy) {
      // Sandboxes get a /proc only where one is wholly visible: nothing is mounted over a part of it.
      const [boot, proc] = [`${copy}.boot`, `${copy}.proc`];
      await mkdir(proc);
      await writeFile(boot, `${randomUUID()}\n`);
      const script =
        'mount -t proc proc "$1"; mount --bind "$2" /proc/sys/kernel/random/boot_id; mount -o loop "$3" "$4"; shift 4; exec "$@"';
      return ["unshare", "--mount", "--propagation", "private", "sh", "-ec", script, "sh", proc, boot, copy, folder];
    },
    async [Symbol.asyncDispose]() {
      await unmount();
      await run("umount", [outer]);
      await rm(root, { recursive: true });
    },
  };
}

async function makeImage(path: string, bytes: number, [program = "", ...args]: readonly string[]): Promise<void> {
  await writeFile(path, "");
  await truncate(path, bytes);
  await run(program, [...args, path], { env: { PATH: "/usr/sbin:/sbin:/usr/bin:/bin" } });
}
