import { chmod, mkdir, readFile, stat, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { expect } from "vitest";
import { useLab } from "./support/lab.ts";
import { isRoot, outside } from "./support/outside.ts";
import { verifies } from "./verifies.ts";

const lab = useLab();
const SECRET = "the-host-keeps-this";

verifies("host-files-hidden", async () => {
  const open = join(dirname(lab.home), "open.txt");
  await writeFile(open, SECRET, { mode: 0o644 });
  expect((await outside(["cat", open])).out).toBe(SECRET);
  await using box = await lab.box();
  const hidden = [
    open,
    dirname(lab.home),
    process.cwd(),
    "/var/log/dpkg.log",
    "/var/lib/systemd",
    "/run/systemd",
    "/run/dbus",
    "/run/user",
  ];
  for (const user of ["root", "user"]) {
    for (const path of hidden)
      expect({ user, path, out: (await box.run(["ls", "-Ad", "--", path], { user })).out }).toMatchObject({ out: "" });
  }
  expect((await box.run(["ls", "-A", "/root", "/home", "/boot", "/mnt", "/srv", "/media"], { user: "root" })).out).toBe(EMPTY_FOLDERS);
  const accounts = (await box.run(["cat", "/etc/passwd"])).out.trim().split("\n");
  expect(accounts.length).toBeLessThan(20);
  expect(accounts.filter((line) => /:[1-9]\d{3}:/.test(line) && !/^(user|nobody):/.test(line))).toEqual([]);
});

const EMPTY_FOLDERS = "/boot:\n\n/home:\nuser\n\n/media:\n\n/mnt:\n\n/root:\n.bashrc\n.profile\n\n/srv:\n";

verifies("host-secrets-hidden", async () => {
  if (isRoot) expect((await outside(["head", "-c", "4", "/etc/shadow"])).out).toBe("root");
  await using box = await lab.box();
  for (const path of [
    "/etc/shadow",
    "/etc/gshadow",
    "/etc/sudoers",
    "/etc/ssh",
    "/etc/npmrc",
    "/etc/pip.conf",
    "/usr/etc",
    "/usr/local/etc",
    "/usr/local/src",
  ]) {
    expect({ path, ...(await box.run(["ls", "-d", "--", path], { user: "root" })) }).toMatchObject({ out: "" });
  }
  const unreadable = [
    "find",
    "/usr",
    "/opt/belljar",
    "-xdev",
    "(",
    "-type",
    "f",
    "!",
    "-perm",
    "-0004",
    "-o",
    "-type",
    "d",
    "!",
    "-perm",
    "-0005",
    ")",
    "-print",
  ];
  expect(await box.run(unreadable, { user: "root", timeoutMs: 60_000, signal: AbortSignal.timeout(60_000) })).toMatchObject({
    code: 0,
    out: "",
  });
});

verifies("host-environment-hidden", async () => {
  process.env["BELLJAR_TEST_SECRET"] = SECRET;
  try {
    await using box = await lab.box();
    for (const user of ["root", "user"]) {
      expect((await box.run(["env"], { user })).out).not.toContain(SECRET);
      expect((await box.run(["bash", "-c", "cat /proc/*/environ 2>/dev/null | tr '\\0' '\\n'"], { user })).out).not.toContain(SECRET);
    }
    const names = (await box.run(["env"])).out
      .trim()
      .split("\n")
      .map((line) => line.split("=")[0]);
    const expected = [
      "HOME",
      "USER",
      "LOGNAME",
      "SHELL",
      "PATH",
      "LANG",
      "NPM_CONFIG_CACHE",
      "PIP_CACHE_DIR",
      "NODE_EXTRA_CA_CERTS",
      "PWD",
      "SHLVL",
      "_",
    ];
    expect(names.filter((name) => !expected.includes(name ?? ""))).toEqual([]);
  } finally {
    delete process.env["BELLJAR_TEST_SECRET"];
  }
});

verifies("host-paths-hidden", async () => {
  await using box = await lab.box();
  for (const file of ["/proc/self/mountinfo", "/proc/self/mounts", "/proc/1/mountinfo", "/proc/self/cgroup"]) {
    const { out } = await box.run(["cat", file], { user: "root" });
    for (const path of [lab.home, dirname(lab.home), box.running.id, process.cwd(), "templates"])
      expect({ file, out }).not.toMatchObject({ out: expect.stringContaining(path) });
  }
});

verifies("host-files-unwritable", async () => {
  const project = join(dirname(lab.home), "project");
  await mkdir(project);
  await writeFile(join(project, "file"), "before");
  await chmod(project, 0o755);
  expect((await outside(["sh", "-c", 'echo before > "$0"', join(project, "file")])).code).toBe(0);
  const tool = await stat("/usr/bin/env");
  await using box = await lab.box({ workspace: { path: project, mode: "copy" } });
  await box.run(["sh", "-c", "echo after > /usr/bin/env; rm -f /usr/bin/cat /usr/bin/awk; touch /usr/bin/belljar-was-here"], {
    user: "root",
  });
  await box.run(["sh", "-c", "echo after > /workspace/file; touch /workspace/new"], { user: "user" });
  expect((await box.run(["/bin/sh", "-c", "read -r line < /workspace/file; echo $line"])).out).toBe("after\n");
  expect(await readFile(join(project, "file"), "utf8")).toBe("before\n");
  expect((await outside(["ls", project])).out).toBe("file\n");
  expect(await stat("/usr/bin/env")).toMatchObject({ size: tool.size, mtimeMs: tool.mtimeMs, mode: tool.mode });
  expect((await outside(["ls", "/usr/bin/cat", "/usr/bin/awk"])).code).toBe(0);
  expect((await outside(["ls", "/usr/bin/belljar-was-here"])).code).not.toBe(0);
});
