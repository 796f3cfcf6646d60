import { execFile } from "node:child_process";
import { chmod, lstat, mkdir, mkdtemp, readdir, readFile, readlink, rm, symlink, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join, relative } from "node:path";
import { rootCertificates } from "node:tls";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { createSandboxAuthority } from "../../src/network/tls/sandbox-authority.ts";
import { openBaseTemplate } from "../../src/runtime/namespace/template/base-template.ts";
import type { Template } from "../../src/runtime/namespace/template/template.ts";

const run = promisify(execFile);

interface Host extends AsyncDisposable {
  readonly root: string;
  readonly home: string;
  write(path: string, mode?: number): Promise<void>;
  template(): Promise<Template>;
}

/** A small host of its own: what is in it is known. */
async function createHost(): Promise<Host> {
  const folder = await mkdtemp(join(tmpdir(), "belljar-template-"));
  const root = join(folder, "host");
  const home = join(folder, "home");
  const write = async (path: string, mode = 0o644): Promise<void> => {
    await mkdir(dirname(join(root, path)), { recursive: true });
    await writeFile(join(root, path), `content of ${path}`);
    await chmod(join(root, path), mode);
  };
  for (const name of ["bin", "sbin", "lib"]) {
    await mkdir(join(root, "usr", name), { recursive: true });
    await symlink(`usr/${name}`, join(root, name));
  }
  for (const path of ["etc/mime.types", "etc/shadow", "etc/gitconfig", "var/lib/dpkg/status", "usr/bin/tool", "usr/local/bin/tool"])
    await write(path);
  return {
    root,
    home,
    write,
    template: () => openBaseTemplate({ home, hostRoot: root }),
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }),
  };
}

function layers(template: Template): { readonly root: string; readonly usr: string } {
  const [root, usr] = [template.rootLayers[0], template.usrLayers[0]];
  if (root === undefined || usr === undefined) throw new Error("the template has no layers");
  return { root, usr };
}

async function kindOf(path: string): Promise<"whiteout" | "link" | "folder" | "file" | "absent"> {
  const stat = await lstat(path).catch(() => undefined);
  if (!stat) return "absent";
  if (stat.isCharacterDevice() && stat.rdev === 0) return "whiteout";
  if (stat.isSymbolicLink()) return "link";
  return stat.isDirectory() ? "folder" : "file";
}

const byText = (one: string, other: string): number => (one < other ? -1 : 1);

/** Folders of the template that root alone may enter. */
const PRIVATE = [
  "etc/ssl/private",
  "root",
  "var/cache/apt/archives/partial",
  "var/cache/ldconfig",
  "var/cache/root",
  "var/lib/apt/lists/partial",
];

/** As Debian has them. */
const GROUPS =
  "root 0, daemon 1, bin 2, sys 3, adm 4, tty 5, disk 6, lp 7, mail 8, man 12, kmem 15, sudo 27, audio 29, www-data 33, backup 34, " +
  "shadow 42, utmp 43, video 44, staff 50, games 60, users 100, user 1000, nogroup 65534";

describe("the base template", () => {
  it("is built once and reused while the host stays as it is", async () => {
    await using host = await createHost();
    const first = await host.template();
    const marker = join(layers(first).root, "marker");
    await writeFile(marker, "");
    const second = await host.template();
    expect(second).toEqual(first);
    expect(await kindOf(marker)).toBe("file");
  });

  it("gets another fingerprint when the host's packages change", async () => {
    await using host = await createHost();
    const first = await host.template();
    await utimes(join(host.root, "var/lib/dpkg/status"), 1, 1);
    expect((await host.template()).fingerprint).not.toBe(first.fingerprint);
  });

  it("gets another fingerprint when a setting in the allow-list changes", async () => {
    await using host = await createHost();
    const first = await host.template();
    await host.write("etc/services");
    expect((await host.template()).fingerprint).not.toBe(first.fingerprint);
  });

  it("comes out whole and alone when several build it at once", async () => {
    await using host = await createHost();
    const templates = await Promise.all(Array.from({ length: 5 }, () => host.template()));
    const [first] = templates;
    if (!first) throw new Error("no template");
    for (const template of templates) expect(template).toEqual(first);
    expect(await readdir(join(host.home, "templates", "base"))).toEqual([first.fingerprint]);
    expect(await kindOf(join(layers(first).root, "home/user/.bashrc"))).toBe("file");
  });

  it("removes what a killed builder left behind", async () => {
    await using host = await createHost();
    const left = join(host.home, "templates", "base", ".building-left");
    await mkdir(left, { recursive: true });
    await utimes(left, 1, 1);
    await host.template();
    expect(await kindOf(left)).toBe("absent");
  });

  it("keeps its folders to the owner of the home", async () => {
    await using host = await createHost();
    const { root } = layers(await host.template());
    for (const folder of [join(host.home, "templates"), join(host.home, "templates/base"), dirname(root)]) {
      expect((await lstat(folder)).mode & 0o777).toBe(0o700);
    }
  });

  it("leaves nothing behind when its signal aborts", async () => {
    await using host = await createHost();
    const building = openBaseTemplate({ home: host.home, hostRoot: host.root, signal: AbortSignal.abort() });
    await expect(building).rejects.toMatchObject({ code: "CANCELLED" });
    expect(await readdir(join(host.home, "templates", "base"))).toEqual([]);
  });

  it("refuses a host whose /bin is no link into /usr", async () => {
    await using host = await createHost();
    await rm(join(host.root, "bin"));
    await mkdir(join(host.root, "bin"));
    await expect(host.template()).rejects.toMatchObject({ code: "RUNTIME_UNAVAILABLE" });
  });
});

describe("the root layer", () => {
  it("copies of /etc what the allow-list names and nothing else", async () => {
    await using host = await createHost();
    const { root } = layers(await host.template());
    expect(await readFile(join(root, "etc/mime.types"), "utf8")).toBe("content of etc/mime.types");
    expect(await kindOf(join(root, "etc/shadow"))).toBe("absent");
    expect(await readFile(join(root, "etc/gitconfig"), "utf8")).toMatch(/name = Belljar user/);
  });

  it("names Debian's own archive for apt on a Debian host, and none of the host's sources", async () => {
    await using host = await createHost();
    const sources = "etc/apt/sources.list.d/debian.sources";
    await host.write(sources);
    await host.write("usr/share/keyrings/debian-archive-keyring.gpg");
    expect(await kindOf(join(layers(await host.template()).root, sources))).toBe("absent");
    await writeFile(join(host.root, "etc/os-release"), 'ID=debian\nVERSION_CODENAME="bookworm"\n');
    const text = await readFile(join(layers(await host.template()).root, sources), "utf8");
    expect(text).toContain("URIs: http://deb.debian.org/debian\nSuites: bookworm bookworm-updates");
    expect(text).toContain("URIs: http://security.debian.org/debian-security\nSuites: bookworm-security");
  });

  it("leaves out allowed names that the world may not read", async () => {
    await using host = await createHost();
    await host.write("etc/services", 0o640);
    await host.write("etc/fonts/open.conf");
    await host.write("etc/fonts/secret.conf", 0o600);
    await host.write("etc/perl/closed/file");
    await chmod(join(host.root, "etc/perl/closed"), 0o750);
    const { root } = layers(await host.template());
    expect(await kindOf(join(root, "etc/services"))).toBe("absent");
    expect(await readdir(join(root, "etc/fonts"))).toEqual(["open.conf"]);
    expect(await readdir(join(root, "etc/perl"))).toEqual([]);
  });

  it("copies a link only when it leads where the sandbox may look", async () => {
    await using host = await createHost();
    await mkdir(join(host.root, "etc/alternatives"));
    await symlink("/usr/bin/tool", join(host.root, "etc/alternatives/inside"));
    await symlink("/home/somebody/tool", join(host.root, "etc/alternatives/outside"));
    await symlink("../../../home/somebody", join(host.root, "etc/alternatives/relative"));
    await symlink("shadow", join(host.root, "etc/localtime"));
    const { root } = layers(await host.template());
    expect(await readdir(join(root, "etc/alternatives"))).toEqual(["inside"]);
    expect(await kindOf(join(root, "etc/localtime"))).toBe("link");
    expect(await kindOf(join(root, "etc/shadow"))).toBe("absent");
  });

  it("does not wait for a FIFO that has an allowed name", async () => {
    await using host = await createHost();
    await run("mkfifo", [join(host.root, "etc/services")]);
    const { root } = layers(await host.template());
    expect(await kindOf(join(root, "etc/services"))).toBe("absent");
  });

  it("has accounts of its own", async () => {
    await using host = await createHost();
    await host.write("etc/passwd");
    const passwd = await readFile(join(layers(await host.template()).root, "etc/passwd"), "utf8");
    expect(passwd).toMatch(/^root:x:0:0:/);
    expect(passwd).toMatch(/^user:x:1000:1000::\/home\/user:/m);
    expect(passwd).not.toContain("content of");
    const users = passwd.split("\n").flatMap((line) => (line === "" ? [] : [line.split(":").slice(0, 4).join(":")]));
    expect(users).toEqual([
      "root:x:0:0",
      "daemon:x:1:1",
      "bin:x:2:2",
      "sys:x:3:3",
      "games:x:5:60",
      "man:x:6:12",
      "mail:x:8:8",
      "www-data:x:33:33",
      "backup:x:34:34",
      "_apt:x:42:65534",
      "nobody:x:65534:65534",
      "user:x:1000:1000",
    ]);
    const groups = await readFile(join(layers(await host.template()).root, "etc/group"), "utf8");
    const ids = groups.split("\n").flatMap((line) => (line === "" ? [] : [line.replaceAll(":x:", " ").replace(/:$/, "")]));
    expect(ids.join(", ")).toBe(GROUPS);
  });

  it("has the links that programs expect", async () => {
    await using host = await createHost();
    const { root } = layers(await host.template());
    const links = { workspace: "/home/user", "var/run": "/run", "var/lock": "/run/lock", "etc/mtab": "/proc/mounts", bin: "usr/bin" };
    for (const [path, target] of Object.entries(links)) expect(await readlink(join(root, path)), path).toBe(target);
  });

  it("has the modes it names whatever the umask is", async () => {
    await using host = await createHost();
    const before = process.umask(0o077);
    try {
      const { root } = layers(await host.template());
      expect((await lstat(join(root, "tmp"))).mode & 0o7777).toBe(0o1777);
      expect((await lstat(join(root, "etc"))).mode & 0o7777).toBe(0o755);
      expect((await lstat(join(root, "etc/passwd"))).mode & 0o7777).toBe(0o644);
      const modes = new Map<number, string[]>();
      for (const entry of await readdir(root, { recursive: true, withFileTypes: true })) {
        if (!entry.isDirectory()) continue;
        const path = join(entry.parentPath, entry.name);
        const mode = (await lstat(path)).mode & 0o7777;
        modes.set(mode, [...(modes.get(mode) ?? []), relative(root, path)].toSorted(byText));
      }
      expect(new Set(modes.keys())).toEqual(new Set([0o555, 0o700, 0o755, 0o1777]));
      expect(modes.get(0o555)).toEqual(["proc", "sys"]);
      expect(modes.get(0o1777)).toEqual(["run/lock", "tmp", "var/mail", "var/tmp"]);
      expect(modes.get(0o700)).toEqual(PRIVATE);
    } finally {
      process.umask(before);
    }
  });

  it.skipIf(process.getuid?.() !== 0)("belongs to the canonical ids when root gives them (needs root)", async () => {
    await using host = await createHost();
    await host.write("usr/bin/secret", 0o600);
    const template = await openBaseTemplate({ home: host.home, hostRoot: host.root, canonicalUid: 1_000_000_000 });
    const { root, usr } = layers(template);
    for (const path of [root, join(root, "etc/passwd"), join(root, "bin"), usr, join(usr, "bin/secret")]) {
      expect(await lstat(path)).toMatchObject({ uid: 1_000_000_000, gid: 1_000_000_000 });
    }
    for (const path of ["home/user", "home/user/.bashrc"]) expect(await lstat(join(root, path))).toMatchObject({ uid: 1_000_001_000 });
  });
});

describe("Belljar's own programs", () => {
  it("are copied, readable to all, and made anew when they change", async () => {
    await using host = await createHost();
    const kernels = join(host.root, "kernels");
    await host.write("kernels/one.mjs", 0o600);
    const first = await openBaseTemplate({ home: host.home, hostRoot: host.root, kernels });
    const copy = join(layers(first).root, "opt/belljar/kernels/one.mjs");
    expect(await readFile(copy, "utf8")).toBe("content of kernels/one.mjs");
    expect((await lstat(copy)).mode & 0o777).toBe(0o644);
    await host.write("kernels/two.mjs");
    expect((await openBaseTemplate({ home: host.home, hostRoot: host.root, kernels })).fingerprint).not.toBe(first.fingerprint);
  });

  it("may be executables of any place, and are made anew when one changes", async () => {
    await using host = await createHost();
    const programs = { rg: join(host.root, "packages/rg-1/bin") };
    await host.write("packages/rg-1/bin", 0o600);
    const first = await openBaseTemplate({ home: host.home, hostRoot: host.root, programs });
    const copy = join(layers(first).root, "opt/belljar/bin/rg");
    expect(await readFile(copy, "utf8")).toBe("content of packages/rg-1/bin");
    expect((await lstat(copy)).mode & 0o777).toBe(0o755);
    await chmod(programs.rg, 0o644);
    expect((await openBaseTemplate({ home: host.home, hostRoot: host.root, programs })).fingerprint).not.toBe(first.fingerprint);
  });

  it("may be missing", async () => {
    await using host = await createHost();
    const template = await openBaseTemplate({ home: host.home, hostRoot: host.root, kernels: join(host.root, "none") });
    expect(await readdir(join(layers(template).root, "opt/belljar/kernels"))).toEqual([]);
  });
});

describe("the layer over /usr", () => {
  it("whites out what the world may not read, at any depth", async () => {
    await using host = await createHost();
    await host.write("usr/lib/deep/down/key.pem", 0o640);
    await host.write("usr/lib/deep/down/open");
    await host.write("usr/share/closed/file");
    await chmod(join(host.root, "usr/share/closed"), 0o700);
    await host.write("usr/share/listless/file");
    await chmod(join(host.root, "usr/share/listless"), 0o711);
    const { usr } = layers(await host.template());
    expect(await kindOf(join(usr, "lib/deep/down/key.pem"))).toBe("whiteout");
    expect(await kindOf(join(usr, "lib/deep/down/open"))).toBe("absent");
    expect(await kindOf(join(usr, "share/closed"))).toBe("whiteout");
    expect(await kindOf(join(usr, "share/listless"))).toBe("whiteout");
  });

  it("whites out FIFOs and sockets", async () => {
    await using host = await createHost();
    await run("mkfifo", ["-m", "666", join(host.root, "usr/lib/fifo")]);
    expect(await kindOf(join(layers(await host.template()).usr, "lib/fifo"))).toBe("whiteout");
  });

  it("whites out what is not in the lists for /usr and /usr/local", async () => {
    await using host = await createHost();
    for (const path of ["usr/etc/secret", "usr/local/etc/secret", "usr/local/company/tool", "usr/x86_64-linux-gnu/lib/file"])
      await host.write(path);
    const { usr } = layers(await host.template());
    expect(await kindOf(join(usr, "etc"))).toBe("whiteout");
    expect(await kindOf(join(usr, "local/etc"))).toBe("whiteout");
    expect(await kindOf(join(usr, "local/company"))).toBe("whiteout");
    expect(await kindOf(join(usr, "local/bin/tool"))).toBe("absent");
    expect(await kindOf(join(usr, "x86_64-linux-gnu/lib"))).toBe("folder");
  });

  it("has the host's folders, which the sandbox then owns, as deep as packages go, and none that is hidden", async () => {
    await using host = await createHost();
    for (const path of ["usr/share/locale/de/LC_MESSAGES/deep/file", "usr/etc/apt/secret", "usr/share/closed/below/file"])
      await host.write(path);
    await chmod(join(host.root, "usr/share/closed"), 0o700);
    const { usr } = layers(await host.template());
    const kinds = ["share/locale/de/LC_MESSAGES", "share/locale/de/LC_MESSAGES/deep", "etc", "share/closed"].map((path) =>
      kindOf(join(usr, path)),
    );
    expect(await Promise.all(kinds)).toEqual(["folder", "absent", "whiteout", "whiteout"]);
  });

  it.skipIf(process.getuid?.() !== 0)(
    "has only the folders of what it hides where the host's /usr is mapped to root inside (needs root)",
    async () => {
      await using host = await createHost();
      await host.write("usr/share/closed/secret", 0o600);
      const template = await openBaseTemplate({ home: host.home, hostRoot: host.root, canonicalUid: 1_000_000_000 });
      const { usr } = layers(template);
      expect(await Promise.all(["share/closed", "bin"].map((path) => kindOf(join(usr, path))))).toEqual(["folder", "absent"]);
    },
  );

  it("whites out the folder around a name that is not UTF-8", async () => {
    await using host = await createHost();
    await mkdir(join(host.root, "usr/lib/odd"));
    const name = Buffer.concat([Buffer.from(join(host.root, "usr/lib/odd/")), Buffer.from([0xff, 0xfe])]);
    await writeFile(name, "", { mode: 0o600 });
    expect(await kindOf(join(layers(await host.template()).usr, "lib/odd"))).toBe("whiteout");
  });

  it("keeps the modes of the folders that it repeats", async () => {
    await using host = await createHost();
    await host.write("usr/lib/shared/secret", 0o600);
    await chmod(join(host.root, "usr/lib/shared"), 0o1777);
    const { usr } = layers(await host.template());
    expect((await lstat(join(usr, "lib/shared"))).mode & 0o7777).toBe(0o1777);
  });
});

describe("the certificates for Node", () => {
  it.each(["/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt"])(
    "are those of %s where it holds one that Node does not bring",
    async (bundle) => {
      const found = async (content: string | undefined): Promise<string | undefined> => {
        await using host = await createHost();
        if (content !== undefined) await host.write(bundle);
        if (content !== undefined) await writeFile(join(host.root, bundle), content);
        const first = await host.template();
        expect((await host.template()).env).toEqual(first.env);
        const named = first.env["NODE_EXTRA_CA_CERTS"];
        return named && (await readFile(join(layers(first).root, named), "utf8"));
      };
      // Node's own, in lines of another length.
      const known = rootCertificates.slice(0, 3).map((pem) => pem.replaceAll(/\n(?!-)/g, "\r\n"));
      const { certificatePem: company } = createSandboxAuthority();
      expect(await found(undefined)).toBeUndefined();
      expect(await found(known.join("\n"))).toBeUndefined();
      expect(await found(`# nothing\n${"-".repeat(1_000)}`)).toBeUndefined();
      expect(await found([...known, company].join("\n"))).toBe(company);
    },
  );
});

describe("the Node that is shown", () => {
  it("is nothing more when it is under /usr", async () => {
    await using host = await createHost();
    const template = await openBaseTemplate({ home: host.home, hostRoot: host.root, nodePath: "/usr/bin/env" });
    expect(template.binds).toEqual([]);
  });

  it("is the bin and lib of a prefix of its own", async () => {
    await using host = await createHost();
    for (const path of ["opt/node/bin/node", "opt/node/lib/x", "opt/node/include/node/node.h"]) await host.write(path);
    const prefix = join(host.root, "opt/node");
    const template = await openBaseTemplate({ home: host.home, hostRoot: host.root, nodePath: join(prefix, "bin/node") });
    expect(template.binds).toEqual([
      { from: join(prefix, "bin"), to: "/opt/belljar/node/bin", readOnly: true },
      { from: join(prefix, "lib"), to: "/opt/belljar/node/lib", readOnly: true },
    ]);
    expect(template.env["PATH"]).toMatch(/^\/opt\/belljar\/node\/bin:/);
    for (const { to } of template.binds) expect(await kindOf(join(layers(template).root, to))).toBe("folder");
  });

  it("is not a prefix that holds other things, such as a home folder", async () => {
    await using host = await createHost();
    await host.write("home/somebody/bin/node");
    const template = await openBaseTemplate({ home: host.home, hostRoot: host.root, nodePath: join(host.root, "home/somebody/bin/node") });
    expect(template.binds).toEqual([]);
  });
});
