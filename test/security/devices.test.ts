import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { expect } from "vitest";
import type { ExecProcess } from "../../src/runtime/guest/guest.ts";
import type { Box } from "./support/lab.ts";
import { useLab } from "./support/lab.ts";
import { isRoot, outside } from "./support/outside.ts";
import { verifies } from "./verifies.ts";

const lab = useLab();
const PROGRAM = join(import.meta.dirname, "../fixtures/attacks/shared-inode.py");
const DEVICES = ["null", "zero", "full", "random", "urandom", "tty"].map((name) => `/dev/${name}`);
/** /dev/tty is opened by those alone that have a terminal. */
const LOCKABLE = DEVICES.filter((path) => path !== "/dev/tty");
/** Of each kind of file that sandboxes share on disk or in the kernel. */
const SHARED = [
  "/usr/bin/env",
  "/usr/lib/os-release",
  "/etc/passwd",
  "/etc/services",
  "/opt/belljar/kernels",
  "/proc/cmdline",
  "/proc/cpuinfo",
  "/proc/irq",
];
const signal = (): AbortSignal => AbortSignal.timeout(30_000);

async function nextLine(stream: NodeJS.ReadableStream): Promise<string> {
  const [chunk] = (await once(stream, "data")) as [Buffer];
  return chunk.toString().trim();
}

async function holdIn(box: Box, paths: readonly string[]): Promise<ExecProcess> {
  const program = await readFile(PROGRAM, "utf8");
  const holder = await box.guest.exec({ argv: ["python3", "-c", program, "hold", ...paths], user: "root", signal: signal() });
  expect(await nextLine(holder.stdout)).toBe("held");
  return holder;
}

const free = (paths: readonly string[]): string => paths.map((path) => `${path} free\n`).join("");

/** What one holds and watches, another takes and touches: neither may notice. */
async function expectApart(paths: readonly string[]): Promise<void> {
  await using one = await lab.box();
  await using other = await lab.box();
  await using holder = await holdIn(one, paths);
  const program = await readFile(PROGRAM, "utf8");
  for (const user of ["root", "user"])
    expect((await other.run(["python3", "-c", program, "change", ...paths], { user })).out).toBe(free(paths));
  holder.stdin.write("\n");
  expect(await nextLine(holder.stdout)).toBe("");
}

/** Outside all of it is seen. Nothing is written there, and no mode changed. */
async function expectSharedOutside(path: string): Promise<void> {
  const holder = spawn("python3", [PROGRAM, "hold", path]);
  // A process may be gone before its last words are read.
  const exited = once(holder, "exit");
  expect(await nextLine(holder.stdout)).toBe("held");
  expect((await outside(["python3", PROGRAM, "try", path])).out).toBe(`${path} taken by flock\n`);
  holder.stdin.write("\n");
  expect(await nextLine(holder.stdout)).toBe(path);
  await exited;
}

verifies("own-device-nodes", async () => {
  await expectSharedOutside("/dev/full");
  if (!isRoot) {
    expect(lab.isolation.checks.find(({ id }) => id === "devices")).toMatchObject({ state: "partial" });
    return;
  }
  const nodes = await Promise.all(DEVICES.map((path) => stat(path)));
  await expectApart(LOCKABLE);
  await using box = await lab.box();
  const { out } = await box.run(["stat", "-c", "%n %t:%T %a %U %d:%i", ...DEVICES]);
  const rows = out
    .trim()
    .split("\n")
    .map((row) => row.split(" "));
  expect(rows.map((row) => row.slice(0, 4))).toEqual(
    ["1:3", "1:5", "1:7", "1:8", "1:9", "5:0"].map((numbers, i) => [DEVICES[i], numbers, "666", "root"]),
  );
  expect(rows.map((row) => row[4]).filter((inode) => nodes.some(({ dev, ino }) => inode === `${dev}:${ino}`))).toEqual([]);
  const { err } = await box.run(
    ["sh", "-c", "chmod 600 /dev/null; chown 1000 /dev/null; rm /dev/null; setfattr -n user.x -v x /dev/null; : > /dev/new"],
    { user: "root" },
  );
  expect(err.trim().split("\n").length).toBeGreaterThanOrEqual(4);
  expect(
    (await box.run(["sh", "-c", "echo gone > /dev/null && head -c 3 /dev/zero | od -An -tx1 && head -c 1 /dev/urandom | wc -c"])).out,
  ).toBe(" 00 00 00\n1\n");
  expect(await Promise.all(DEVICES.map((path) => stat(path)))).toMatchObject(
    nodes.map(({ mode, uid, ctimeMs }) => ({ mode, uid, ctimeMs })),
  );
});

verifies("shared-files-apart", async () => {
  await expectSharedOutside("/usr/bin/env");
  await expectApart(SHARED);
  const holder = spawn("python3", [PROGRAM, "hold", "/usr/bin/env"]);
  expect(await nextLine(holder.stdout)).toBe("held");
  await using box = await lab.box();
  const program = await readFile(PROGRAM, "utf8");
  expect((await box.run(["python3", "-c", program, "change", "/usr/bin/env"], { user: "root" })).out).toBe("/usr/bin/env free\n");
  holder.kill("SIGKILL");
  await once(holder, "exit");
});

/** Each line is a way to change a program of ours, or to put another one in its place. */
const CHANGES = [
  "echo x >> /opt/belljar/kernels/web-page.mjs",
  "chmod 777 /opt/belljar/kernels/web-page.mjs",
  "chown 1000 /opt/belljar/kernels/web-page.mjs",
  "rm -f /opt/belljar/kernels/web-page.mjs",
  "mv /opt/belljar/kernels /opt/belljar/kernels.old",
  "mv /opt/belljar /opt/belljar.old",
  "mv /opt /opt.old",
  "rmdir /opt/belljar/node/bin",
  "touch -d 2000-01-01 /opt/belljar/kernels/web-page.mjs",
  "setfattr -n user.x -v x /opt/belljar/kernels/web-page.mjs",
  "setfattr -n user.overlay.opaque -v y /opt/belljar/kernels",
  "ln /opt/belljar/kernels/web-page.mjs /opt/other.mjs",
  "touch /opt/belljar/bin/new /opt/belljar/node/new",
  "mount -o remount,rw /opt/belljar",
  "mount --bind /tmp /opt/belljar/kernels",
  "umount /opt/belljar",
  "exec 9< /opt/belljar/kernels/web-page.mjs; echo x >> /proc/self/fd/9",
  "python3 -c 'import os; os.open(\"/opt/belljar/kernels/web-page.mjs\", os.O_RDWR)'",
  "python3 -c 'import os; os.truncate(\"/proc/1/root/opt/belljar/kernels/web-page.mjs\", 0)'",
];

verifies("programs-unchangeable", async () => {
  await using box = await lab.box();
  const look = async (): Promise<string> => (await box.run(["sh", "-c", "ls -lARn /opt/belljar; md5sum /opt/belljar/kernels/*"])).out;
  const before = await look();
  expect(before).toContain("web-page.mjs");
  for (const user of ["root", "user"])
    for (const change of CHANGES)
      expect({ user, change, succeeded: (await box.run(["bash", "-c", change], { user })).code === 0 }).toEqual({
        user,
        change,
        succeeded: false,
      });
  expect(await look()).toBe(before);
  const ownPlace =
    "mkdir /opt/mine && cp -r /opt/belljar/kernels /opt/mine && echo x >> /opt/mine/kernels/web-page.mjs && mv /opt/mine /opt/yours";
  expect((await box.run(["sh", "-c", ownPlace], { user: "root" })).code).toBe(0);
});
