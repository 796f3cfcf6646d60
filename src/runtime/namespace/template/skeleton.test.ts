import { lstatSync, readdirSync, readlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { type HostRoot, makeHostRoot, modeOf, textOf } from "../../../../test/support/host-root.ts";
import { ETC_ROWS, VAR_ROWS } from "./etc-table.ts";
import { createLayer } from "./layer.ts";
import { buildSkeleton } from "./skeleton.ts";

/** A host with a merged `/usr`. */
function makeMerged(): HostRoot {
  const host = makeHostRoot();
  for (const name of ["bin", "sbin", "lib"]) host.link(name, `usr/${name}`);
  return host;
}

async function build(host: HostRoot): Promise<string> {
  await buildSkeleton(await createLayer(host.layer, undefined), host.root);
  return host.layer;
}

function foldersBelow(layer: string): readonly string[] {
  const found = readdirSync(layer, { recursive: true, withFileTypes: true }).filter((entry) => entry.isDirectory());
  return found.map(({ parentPath, name }) => join(parentPath, name).slice(layer.length + 1)).toSorted();
}

it("has folders that all may enter and root may write, but for a few", async () => {
  using host = makeMerged();
  const layer = await build(host);
  const others = Object.fromEntries(
    foldersBelow(layer).flatMap((path) => (modeOf(join(layer, path)) === 0o755 ? [] : [[path, modeOf(join(layer, path))]])),
  );
  const [all, root, kernel] = [0o1777, 0o700, 0o555];
  expect(others).toEqual({
    proc: kernel,
    sys: kernel,
    tmp: all,
    "run/lock": all,
    "var/tmp": all,
    "var/mail": all,
    root,
    "etc/ssl/private": root,
    "var/cache/apt/archives/partial": root,
    "var/cache/ldconfig": root,
    "var/cache/root": root,
    "var/lib/apt/lists/partial": root,
  });
});

it("has the folders that programs and packages expect", async () => {
  using host = makeMerged();
  const folders = foldersBelow(await build(host));
  for (const path of ["usr", "dev", "run/belljar", "boot", "media", "mnt", "srv", "home/user", "opt/belljar/kernels", "opt/belljar/bin"])
    expect(folders).toContain(path);
  for (const path of ["opt/belljar/node/bin", "opt/belljar/node/lib", "etc/skel", "etc/profile.d", "etc/default", "etc/opt"])
    expect(folders).toContain(path);
  for (const name of ["apt.conf.d", "auth.conf.d", "preferences.d", "sources.list.d"]) expect(folders).toContain(`etc/apt/${name}`);
  for (const path of ["etc/dpkg/dpkg.cfg.d", "var/lib/dpkg/info", "var/lib/dpkg/parts", "var/lib/dpkg/triggers", "var/lib/dpkg/updates"])
    expect(folders).toContain(path);
  for (const path of ["backups", "local", "opt", "spool", "cache/debconf", "cache/fontconfig", "cache/man", "cache/user", "log/apt"])
    expect(folders).toContain(`var/${path}`);
  for (const path of ["lib/apt/periodic", "lib/misc", "lib/python"]) expect(folders).toContain(`var/${path}`);
});

it("has links where old paths were", async () => {
  using host = makeMerged();
  host.link("lib64", "/usr/lib64");
  const layer = await build(host);
  const links = readdirSync(layer, { recursive: true, withFileTypes: true }).filter((entry) => entry.isSymbolicLink());
  expect(
    Object.fromEntries(
      links.map(({ parentPath, name }) => [join(parentPath, name).slice(layer.length + 1), readlinkSync(join(parentPath, name))]),
    ),
  ).toEqual({
    bin: "usr/bin",
    sbin: "usr/sbin",
    lib: "usr/lib",
    lib64: "usr/lib64",
    workspace: "/home/user",
    "var/run": "/run",
    "var/lock": "/run/lock",
    "etc/mtab": "/proc/mounts",
  });
});

it.each([
  ["a folder", (host: HostRoot) => host.folder("sbin")],
  ["absent", () => undefined],
  ["a link elsewhere", (host: HostRoot) => host.link("sbin", "usr/local/sbin")],
  ["a link out of /usr", (host: HostRoot) => host.link("sbin", "../usr/sbin")],
])("needs a merged /usr: refuses a host whose /sbin is %s", async (_, make) => {
  using host = makeHostRoot();
  for (const name of ["bin", "lib"]) host.link(name, `usr/${name}`);
  make(host);
  await expect(build(host)).rejects.toThrow(
    expect.objectContaining({ code: "RUNTIME_UNAVAILABLE", message: expect.stringContaining("whose /sbin is") as string }),
  );
});

it("has accounts of its own, and none of the host's", async () => {
  using host = makeMerged();
  for (const name of ["passwd", "group", "shadow", "hosts", "resolv.conf", "fstab", "environment"]) host.file(`etc/${name}`);
  const layer = await build(host);
  const rows = (name: string) =>
    textOf(join(layer, "etc", name))
      .trimEnd()
      .split("\n")
      .map((row) => row.split(":"));
  expect(rows("passwd")).toContainEqual(["root", "x", "0", "0", "root", "/root", "/bin/bash"]);
  expect(rows("passwd")).toContainEqual(["user", "x", "1000", "1000", "", "/home/user", "/bin/bash"]);
  expect(rows("passwd").filter((row) => row.at(-1) !== "/usr/sbin/nologin")).toHaveLength(2);
  const groups = new Map(rows("group").map(([name, , id]) => [id, name]));
  for (const [name, , uid, gid, , home] of rows("passwd")) {
    expect(groups.has(gid), `the group of ${name}`).toBe(true);
    expect(home, `the home of ${name}, ${uid}`).toMatch(/^\//);
  }
  expect(groups.size).toBe(rows("group").length);
  expect(textOf(join(layer, "etc/resolv.conf"))).toMatch(/^nameserver 127\.0\.0\.1\n/);
  expect(textOf(join(layer, "etc/hosts"))).toMatch(/^127\.0\.0\.1 localhost sandbox\n/);
  expect(textOf(join(layer, "etc/nsswitch.conf"))).toContain("\nhosts: files dns\n");
  expect([textOf(join(layer, "etc/fstab")), textOf(join(layer, "etc/environment"))]).toEqual(["", ""]);
  expect(lstatSync(join(layer, "etc/shadow"), { throwIfNoEntry: false })).toBeUndefined();
});

it("gives each home the same first files", async () => {
  using host = makeMerged();
  const layer = await build(host);
  for (const name of [".bashrc", ".profile"]) {
    const text = textOf(join(layer, "etc/skel", name));
    expect(text).not.toBe("");
    expect([textOf(join(layer, "root", name)), textOf(join(layer, "home/user", name))]).toEqual([text, text]);
  }
});

it("copies of the host's /etc and /var what the tables name", async () => {
  using host = makeMerged();
  for (const { path } of ETC_ROWS) host.file(`etc/${path.replace("*", "1")}`);
  for (const { path } of VAR_ROWS) host.file(`var/${path}`);
  for (const path of ["etc/gitconfig", "etc/npmrc", "etc/apt/sources.list", "var/lib/dpkg/lock", "var/log/auth.log"]) host.file(path);
  const layer = await build(host);
  const copied = ["etc", "var"].flatMap((top) =>
    readdirSync(join(layer, top), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map(({ parentPath, name }) => join(parentPath, name).slice(layer.length + 1))
      .filter((path) => textOf(join(layer, path)) === path),
  );
  const wanted = [...ETC_ROWS.map(({ path }) => `etc/${path.replace("*", "1")}`), ...VAR_ROWS.map(({ path }) => `var/${path}`)];
  expect(copied.toSorted()).toEqual(wanted.toSorted());
});

it("has sources of packages where the host is Debian", async () => {
  const path = "etc/apt/sources.list.d/debian.sources";
  using other = makeMerged();
  expect(lstatSync(join(await build(other), path), { throwIfNoEntry: false })).toBeUndefined();
  using debian = makeMerged();
  debian.file("etc/os-release");
  writeFileSync(join(debian.root, "etc/os-release"), "ID=debian\nVERSION_CODENAME=sid\n");
  debian.file("usr/share/keyrings/debian-archive-keyring.gpg");
  expect(textOf(join(await build(debian), path))).toContain("Suites: sid sid-updates\n");
});
