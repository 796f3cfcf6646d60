/**
 * Runs tests in a virtual machine whose control groups are of version 2 alone:
 * `node scripts/vm.mjs --kernel FOLDER [--user] [--keep FOLDER] [--memory MIB] [--shell COMMAND] [PROJECT:FILE ...]`,
 * as root, without a network.
 * FOLDER is a Debian kernel package, unpacked: `apt-get download linux-image-VERSION-amd64 && dpkg -x linux-image-*.deb FOLDER`.
 * The machine is QEMU's, with KVM where `--kvm` asks for it; its disk is this host's /usr and /etc, and this checkout, built. It is made anew each
 * time and thrown away; with `--keep` the host's part of it stays in FOLDER for the next time. With `--user` the tests run as an ordinary user with a delegated group, as systemd gives one.
 */
import { spawnSync } from "node:child_process";
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { tmpdir } from "node:os";
import { parseArgs } from "node:util";
import { Problem, ROOT, has, main, run, runAndRead } from "./lib.mjs";

const MODULES = "virtio_pci virtio_blk crc32c_generic ext4 overlay loop fuse blake2b_generic xxhash_generic btrfs".split(" ");
const NEEDED = ["qemu-system-x86_64", "busybox", "cpio", "mkfs.ext4", "tar"];
const DEFAULT_FILES = [
  "security:test/security/cgroups.test.ts",
  "security:test/security/limits.test.ts",
  "security:test/security/kernel-memory.test.ts",
  "unit:src/runtime/namespace/delegation.test.ts",
  "contract:test/contract/namespace.test.ts",
];
/** Folders that no test of this needs, to keep the disk small. */
const LEFT_OUT = [
  "lib/go*",
  "lib/llvm*",
  "lib/jvm",
  "lib/google-cloud-sdk",
  "lib32",
  "share/doc",
  "share/locale",
  "share/man",
  "local/cuda*",
];
const DISK_BYTES = 8 * 2 ** 30;
const USER = "belljar-test";
const SUCCESS = "BELLJAR-VM-EXIT 0";
const PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/** The files of the modules, each after those that it depends on. */
function moduleFiles(folder) {
  const files = new Map();
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true }))
    if (entry.name.endsWith(".ko")) files.set(entry.name.slice(0, -3).replaceAll("-", "_"), join(entry.parentPath, entry.name));
  const ordered = new Set();
  const add = (name) => {
    const file = files.get(name);
    if (file === undefined) return; // built in
    const [, depends = ""] = /\0depends=([^\0]*)\0/.exec(readFileSync(file, "latin1")) ?? [];
    for (const one of depends.split(",")) if (one !== "") add(one.replaceAll("-", "_"));
    ordered.add(file);
  };
  for (const name of MODULES) add(name);
  return [...ordered];
}

const FIRST = `#!/bin/busybox sh
/bin/busybox --install -s /bin
mount -t devtmpfs none /dev
while read name; do insmod /modules/$name; done < /order
mount -t ext4 /dev/vda /disk && mount --move /dev /disk/dev && exec switch_root /disk /vm/init
poweroff -f
`;

function makeInitrd(folder, kernel) {
  const root = join(folder, "initrd");
  for (const name of ["bin", "dev", "disk", "modules"]) mkdirSync(join(root, name), { recursive: true });
  const [version] = readdirSync(join(kernel, "lib/modules"));
  const files = moduleFiles(join(kernel, "lib/modules", version));
  for (const file of files) copyFileSync(file, join(root, "modules", basename(file)));
  writeFileSync(join(root, "order"), files.map((file) => `${basename(file)}\n`).join(""));
  const busybox = spawnSync("sh", ["-c", "command -v busybox"], { encoding: "utf8" }).stdout.trim();
  copyFileSync(busybox, join(root, "bin/busybox"));
  writeFileSync(join(root, "init"), FIRST, { mode: 0o755 });
  run(["sh", "-c", `cd ${root} && find . | cpio --quiet -o -H newc | gzip -1 > ${folder}/initrd.gz`], { what: "pack the initrd" });
}

/** The group of an ordinary user's session, as systemd delegates it: the folder and three files are the user's. Belljar sits below. */
const DELEGATE = `
for group in /sys/fs/cgroup /sys/fs/cgroup/user.slice; do
  mkdir -p $group && echo "+memory +pids +cpu" > $group/cgroup.subtree_control
done
for own in /sys/fs/cgroup/user.slice/session /sys/fs/cgroup/user.slice/session/belljar-host; do
  mkdir $own && (cd $own && chown ${USER}: . cgroup.procs cgroup.subtree_control cgroup.threads)
done
echo $$ > $own/cgroup.procs
`;

const asUser = (command) =>
  `setpriv --reuid=${USER} --regid=${USER} --init-groups env HOME=/home/${USER} TMPDIR=/tmp bash -c '${command.replaceAll("'", `'\\''`)}'`;

function initOf(command, isUser) {
  return `#!/bin/bash
export PATH=${PATH} HOME=/root CI=true NO_COLOR=1
mount -t proc proc /proc && mount -t sysfs sys /sys && mount -t cgroup2 -o nsdelegate cgroup2 /sys/fs/cgroup
mkdir -p /dev/pts /dev/shm && mount -t devpts devpts /dev/pts && mount -t tmpfs tmpfs /dev/shm && mount -t tmpfs tmpfs /run
ln -s /proc/self/fd /dev/fd; chmod 1777 /tmp /dev/shm
ulimit -i unlimited; busybox ip link set lo up; hostname vm; cd ${ROOT}
uname -r; cat /sys/fs/cgroup/cgroup.controllers
mkdir /sys/fs/cgroup/outside && echo $$ > /sys/fs/cgroup/outside/cgroup.procs
${isUser ? DELEGATE : ""}
${isUser ? asUser(command) : command}
echo "BELLJAR-VM-EXIT $?"
busybox poweroff -f
`;
}

/** What the machine has of this host. */
function copyHost(disk, point) {
  truncateSync(disk, DISK_BYTES);
  run(["mkfs.ext4", "-q", disk]);
  run(["mount", "-o", "loop", disk, point]);
  const excluded = LEFT_OUT.map((path) => `--exclude=usr/${path}`).join(" ");
  run(["sh", "-c", `tar -C / ${excluded} -cf - usr etc bin lib lib64 sbin | tar -C ${point} -xf -`], { what: "copy /usr" });
  for (const name of ["proc", "sys", "dev", "run", "tmp", "root", "vm", "var/tmp", `home/${USER}`])
    mkdirSync(join(point, name), { recursive: true });
  run(["chown", `${USER}:`, join(point, "home", USER)]);
}

const PARTS = "bin bench dist docs native node_modules package.json scripts src test tsconfig.json vitest.config.ts README.md AGENTS.md";

/** The checkout lies there at the same path, with its packages and what was built. */
function makeDisk(folder, init) {
  const disk = join(folder, "disk");
  const point = join(folder, "point");
  mkdirSync(point, { recursive: true });
  const isNew = !existsSync(disk);
  if (isNew) writeFileSync(disk, "");
  if (!isNew) run(["mount", "-o", "loop", disk, point]);
  try {
    if (isNew) copyHost(disk, point);
    rmSync(join(point, ROOT), { recursive: true, force: true });
    mkdirSync(join(point, ROOT), { recursive: true });
    run(["sh", "-c", `cd ${ROOT} && tar -cf - ${PARTS} | tar -C ${point}${ROOT} -xf -`], { what: "copy the checkout" });
    writeFileSync(join(point, "vm/init"), init, { mode: 0o755 });
  } finally {
    run(["umount", point]);
  }
}

/** KVM may be there and not work, as in a machine that is itself virtual: it is asked for. */
function qemu({ folder, kernel, memory, hasKvm }) {
  const [image] = readdirSync(join(kernel, "boot")).filter((name) => name.startsWith("vmlinuz"));
  const drive = `file=${folder}/disk,format=raw,if=virtio,snapshot=on`;
  const accelerated = hasKvm ? ["-enable-kvm", "-cpu", "host"] : ["-accel", "tcg,thread=multi", "-cpu", "max"];
  const line = "console=ttyS0 quiet panic=-1";
  return [
    ["qemu-system-x86_64", ...accelerated, "-smp", "2", "-m", memory, "-nographic", "-no-reboot", "-nic", "none"],
    ["-kernel", join(kernel, "boot", image), "-initrd", join(folder, "initrd.gz"), "-drive", drive, "-append", line],
  ].flat();
}

function commandOf(files) {
  return files
    .map((file) => {
      const [project, path] = file.split(":");
      return `node node_modules/vitest/vitest.mjs run --configLoader=runner --testTimeout=300000 --project ${project} ${path}`;
    })
    .join("; r=$((r | $?)); ")
    .concat("; exit $((r | $?))");
}

await main(async () => {
  const { values, positionals } = parseArgs({
    options: {
      kernel: { type: "string" },
      user: { type: "boolean", default: false },
      kvm: { type: "boolean", default: false },
      keep: { type: "string" },
      memory: { type: "string", default: "3072" },
      shell: { type: "string" },
    },
    allowPositionals: true,
  });
  if (process.getuid() !== 0 || values.kernel === undefined)
    throw new Problem("Run it as root, with --kernel FOLDER; see the head of scripts/vm.mjs");
  const missing = NEEDED.filter((name) => !has(name));
  if (missing.length > 0)
    throw new Problem(`Not installed: ${missing.join(", ")}. On Debian: apt-get install qemu-system-x86 busybox-static cpio e2fsprogs`);
  const folder = values.keep ?? mkdtempSync(join(tmpdir(), "belljar-vm-"));
  mkdirSync(folder, { recursive: true });
  rmSync(join(folder, "initrd"), { recursive: true, force: true });
  try {
    const command = values.shell ?? commandOf(positionals.length > 0 ? positionals : DEFAULT_FILES);
    makeInitrd(folder, values.kernel);
    makeDisk(folder, initOf(`(${command})`, values.user));
    const { text } = await runAndRead(qemu({ folder, kernel: values.kernel, memory: values.memory, hasKvm: values.kvm }));
    process.exitCode = text.includes(SUCCESS) ? 0 : 1;
  } finally {
    if (values.keep === undefined) rmSync(folder, { recursive: true, force: true });
  }
});
