import { execFileSync } from "node:child_process";
import { existsSync, lstatSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { findIdMap } from "../../../../src/runtime/namespace/id-map.ts";
import { run } from "../../../contract/contract-sandbox.ts";
import { type StorageName } from "../../../support/namespace-home.ts";
import { encodeEntry, type TarEntry, tarArchive } from "../../../support/tar-archive.ts";
import { openUnpackLab, tellTree, type UnpackLab } from "../../../support/unpack-lab.ts";

const isRoot = process.getuid?.() === 0;
const isSingle = findIdMap().kind === "single";
/** With one id everything belongs to it. */
const own = isSingle ? "" : " 0:0";
const TIMEOUT_MS = 60_000;

const folder = (name: string, more: Partial<TarEntry> = {}): TarEntry => ({ name, type: "folder", mode: 0o755, ...more });
const file = (name: string, content = name): TarEntry => ({ name, content });
const link = (name: string, to: string): TarEntry => ({ name, type: "link", link: to });
const hardLink = (name: string, to: string): TarEntry => ({ name, type: "hard-link", link: to });

const MAKE_ALL = `
umask 022
mkdir -p folder/sub 'with space' read-only
echo content > folder/file; ln folder/file folder/hard; ln -s ../nowhere folder/link; ln folder/link folder/hard-link; mkfifo folder/fifo
head -c 3000000 /dev/urandom > large; : > empty; printf x > "$(printf 'new\\nline')"; printf y > $'not-utf8-\\xff'; printf A > Case; printf a > case
chmod 6755 folder/file; chmod 1777 folder/sub; chmod 2750 'with space'
long=$(printf '%0120d' 1); printf z > "long-$long$long"; mkdir -p "long-deep/$long/$long"; ln -s "long-$long" long-link; printf q > "long-deep/$long/$long/file"
if [ "$(id -u)" = 0 ]; then chown -h 33:44 folder/link; chown 1000:1000 large; chown 65533:7 empty; fi
printf inner > read-only/file; chmod 500 read-only
touch -d @1234567890 folder/file; touch -h -d @1000000000 folder/link; touch -d @9999999999 far-future; touch -d @1 epoch
touch -d @1111111111.25 folder read-only .
`;

/** The same files by our own hands and by tar's. */
async function unpackBoth(lab: UnpackLab, archive: string): Promise<readonly [readonly string[], readonly string[]]> {
  const other = mkdtempSync(join(tmpdir(), "belljar-tar-"));
  try {
    execFileSync("tar", ["--numeric-owner", "--warning=no-timestamp", "-xpf", archive, "-C", other]);
    const { layer, entries, skipped } = await lab.unpack(readFileSync(archive));
    const ours = tellTree(lab.root(layer), { times: true });
    expect([entries, skipped]).toEqual([ours.length + 1, 0]);
    return [ours, tellTree(other, { times: true, isLayer: false })];
  } finally {
    execFileSync("chmod", ["-R", "u+w", other]);
    rmSync(other, { recursive: true, force: true });
  }
}

/** Only root's tar gives files to others. */
function withoutOwner(line: string): string {
  return isRoot ? line : line.replace(/ \d+:\d+ /, " ");
}

describe("a layer of an image", () => {
  for (const format of ["gnu", "pax", "ustar"])
    it(`is unpacked as tar does it, from the format ${format}`, { timeout: TIMEOUT_MS }, async () => {
      await using lab = await openUnpackLab();
      const made = mkdtempSync(join(tmpdir(), "belljar-made-"));
      try {
        mkdirSync(join(made, "all"));
        execFileSync("bash", ["-ec", MAKE_ALL], { cwd: join(made, "all") });
        const archive = join(made, "archive.tar");
        const left = format === "ustar" ? ["--exclude=long*", "--exclude=far-future"] : []; // more than it can say
        execFileSync("tar", [`--format=${format}`, "--numeric-owner", ...left, "-cf", archive, "-C", join(made, "all"), "."]);
        const [ours, wanted] = await unpackBoth(lab, archive);
        expect(ours.length).toBeGreaterThan(15);
        expect(ours.map(withoutOwner)).toEqual(wanted.map(withoutOwner));
      } finally {
        execFileSync("chmod", ["-R", "u+w", made]);
        rmSync(made, { recursive: true, force: true });
      }
    });

  it("has a later entry of a name instead of an earlier one, and folders of both", async () => {
    await using lab = await openUnpackLab();
    const entries = [
      folder("both", { mode: 0o700 }),
      file("both/one"),
      folder("both"),
      file("both/two"),
      file("text", "old"),
      file("text", "new"),
      link("link-then-folder", "both"),
      folder("link-then-folder"),
      file("link-then-folder/inner"),
      folder("folder-then-link"),
      file("folder-then-link/gone"),
      link("folder-then-link", "both"),
      folder("folder-then-file"),
      file("folder-then-file/gone"),
      file("folder-then-file"),
    ];
    expect(await lab.tell(...entries)).toEqual([
      `both folder 755${own}`,
      `both/one file 644${own} both/one`,
      `both/two file 644${own} both/two`,
      `folder-then-file file 644${own} folder-then-file`,
      `folder-then-link link${own} both`,
      `link-then-folder folder 755${own}`,
      `link-then-folder/inner file 644${own} link-then-folder/inner`,
      `text file 644${own} new`,
    ]);
  });

  it("has folders that no entry tells of, and files behind links of the same layer", async () => {
    await using lab = await openUnpackLab();
    const entries = [file("a/b/c"), link("lib", "/usr/lib"), link("usr/deep/up", "../.././lib"), file("lib/one"), file("usr/deep/up/two"), hardLink("hard", "lib/one")]; // prettier-ignore
    expect(await lab.tell(...entries)).toEqual([
      `a folder 755${own}`,
      `a/b folder 755${own}`,
      `a/b/c file 644${own} a/b/c`,
      `hard file 644${own} lib/one`,
      `lib link${own} /usr/lib`,
      `usr folder 755${own}`,
      `usr/deep folder 755${own}`,
      `usr/deep/up link${own} ../.././lib`,
      `usr/lib folder 755${own}`,
      `usr/lib/one file 644${own} lib/one`,
      `usr/lib/two file 644${own} usr/deep/up/two`,
    ]);
  });

  it("gives nobody what belongs to ids that a sandbox does not have, and leaves devices out", async () => {
    await using lab = await openUnpackLab();
    const far: TarEntry = { name: "far", pax: { uid: "4294967296", gid: "70000" } };
    const near: TarEntry = { name: "near", pax: { uid: "65535", gid: "1" } };
    const devices = (["characters", "blocks"] as const).map((type): TarEntry => ({ name: type, type }));
    const { layer, skipped, entries } = await lab.unpack(tarArchive(...devices, far, near));
    expect([skipped, entries]).toEqual([2, 4]);
    expect(tellTree(lab.root(layer))).toEqual(
      isSingle ? ["far file 644", "near file 644"] : ["far file 644 65534:65534", "near file 644 65535:1"],
    );
  });

  it("is on the disk, with the mark of that, before the answer to whoever asks for it", async () => {
    await using lab = await openUnpackLab();
    const { layer } = await lab.unpack(tarArchive(file("one")), { durable: true });
    expect(existsSync(join(lab.home.path, "layers", layer, "flushed"))).toBe(true);
  });

  it("may be empty, and may lack the end that archives have", async () => {
    await using lab = await openUnpackLab();
    for (const archive of [Buffer.alloc(0), tarArchive()]) expect(await lab.unpack(archive)).toMatchObject({ bytes: 0, entries: 0 });
    const { layer } = await lab.unpack(encodeEntry(file("one")));
    expect(tellTree(lab.root(layer))).toEqual([`one file 644${own} one`]);
  });
});

const LOWER = [
  folder("etc/keep"),
  file("etc/keep/low"),
  folder("etc/hidden"),
  file("etc/hidden/low"),
  file("etc/gone", "low"),
  folder("etc/replaced"),
  file("etc/replaced/low"),
  folder("etc/late"),
  file("etc/late/low"),
  folder("etc/implied"),
  file("etc/implied/low"),
  file("etc/own", "low"),
  folder("etc/was-link"),
  file("etc/was-link/low"),
];
/** A whiteout hides what lower layers have, and nothing of its own layer, whichever of them comes first. */
const UPPER = [
  file("etc/keep/high"),
  file("etc/hidden/.wh..wh..opq", ""),
  file("etc/hidden/high"),
  file("etc/.wh.gone", "content of a whiteout"),
  file("etc/.wh.replaced", ""),
  folder("etc/replaced"),
  file("etc/replaced/high"),
  folder("etc/late"),
  file("etc/late/high"),
  file("etc/.wh.late", ""),
  file("etc/.wh.implied", ""),
  file("etc/implied/high"),
  file("etc/own", "high"),
  file("etc/.wh.own", ""),
  link("etc/was-link", "keep"),
  folder("etc/was-link"),
  file("etc/.wh..wh.aufs", "old"),
  folder(".wh..wh.plnk"),
  file(".wh..wh.plnk/1.2", "old"),
];

const GIVEN = isSingle ? "" : " 7:8";

/** What such a layer has over these. */
async function tellOver(lab: UnpackLab, lower: readonly (readonly TarEntry[])[], entries: readonly TarEntry[]): Promise<readonly string[]> {
  const below: string[] = [];
  for (const layer of lower) below.unshift((await lab.unpack(tarArchive(...layer), { below: [...below] })).layer);
  return tellTree(lab.root((await lab.unpack(tarArchive(...entries), { below })).layer), { times: true });
}

describe("a layer of an image over others", () => {
  const strict = (name: string): TarEntry => folder(name, { mode: 0o710, uid: 7, gid: 8, mtime: 1e9 });

  it("has folders that no entry tells of as the layers below have them", async () => {
    await using lab = await openUnpackLab();
    const lower = [
      [strict("a"), strict("a/b"), file("a/b/low")],
      [strict("c"), folder("a/b", { mode: 0o700, mtime: 2e9 })],
    ];
    expect(await tellOver(lab, lower, [file("a/b/high"), file("c/.wh.gone", "")])).toEqual([
      `a folder 710${GIVEN} 1000000000000`,
      `a/b folder 700${own} 2000000000000`,
      `a/b/high file 644${own} 1000000000000 a/b/high`,
      `c folder 710${GIVEN} 1000000000000`,
      "c/gone whiteout",
    ]);
  });

  it("has nothing of what lies below a whiteout, an opaque folder, a file or a link of its own", async () => {
    await using lab = await openUnpackLab();
    const lower = [
      ["gone", "hidden", "covered", "linked"].flatMap((name) => [strict(name), strict(`${name}/inner`), link(`${name}/link`, "inner")]),
    ];
    const above = [file(".wh.gone", ""), file("hidden/.wh..wh..opq", ""), file("covered"), folder("covered"), link("linked", "elsewhere")];
    const told = await tellOver(lab, lower, [...above, ...["gone", "hidden", "covered", "linked"].flatMap((name) => [file(`${name}/inner/x`), file(`${name}/link/y`)])]); // prettier-ignore
    const untold = told.filter((line) => /(?:inner|link) folder /.test(line)).map((line) => line.replace(/ [\d.]+$/, ""));
    const folders = ["covered", "elsewhere", "gone", "hidden"].flatMap((name) =>
      ["inner", "link"].map((inner) => `${name}/${inner} folder 755${own}`),
    );
    expect(untold).toEqual(folders);
  });

  it("has its files where links of the layers below lead", async () => {
    await using lab = await openUnpackLab();
    const lower = [[strict("usr/lib"), link("lib", "/usr/lib"), link("usr/round", "../lib")], [link("lib64", "lib")]];
    const told = await tellOver(lab, lower, [file("lib64/one"), file("usr/round/two"), file("lib/.wh.three", "")]);
    expect(told.slice(1)).toEqual([
      `usr/lib folder 710${GIVEN} 1000000000000`,
      `usr/lib/one file 644${own} 1000000000000 lib64/one`,
      "usr/lib/three whiteout",
      `usr/lib/two file 644${own} 1000000000000 usr/round/two`,
    ]);
  });

  it("has a copy of a file of the layers below that it gives a name, counts it, and refuses one that is hidden", async () => {
    await using lab = await openUnpackLab();
    const low: TarEntry = { ...file("a/low", "x".repeat(50)), mode: 0o640, uid: 7, gid: 8 };
    const lower = [[strict("a"), low, file("a/gone")], [file("a/.wh.gone", "")]];
    expect(await tellOver(lab, lower, [hardLink("new", "a/low")])).toEqual([
      `a folder 710${GIVEN} 1000000000000`,
      `a/low file 640${GIVEN} 1000000000000 ${"x".repeat(50)}`,
      `new file 640${GIVEN} 1000000000000 ${"x".repeat(50)}`,
    ]);
    await expect(tellOver(lab, lower, [hardLink("new", "a/gone")])).rejects.toMatchObject({ code: "IMAGE_INVALID" });
    const { layer } = await lab.unpack(tarArchive(low));
    const small = lab.unpack(tarArchive(hardLink("new", "a/low")), { below: [layer], maxBytes: 49 });
    await expect(small).rejects.toMatchObject({ code: "IMAGE_TOO_LARGE" });
  });
});

describe("a sandbox on layers of images", () => {
  const storages: readonly StorageName[] = isRoot ? ["home", "tmpfs", "btrfs"] : ["home", "tmpfs"];
  for (const storage of storages)
    it(`sees their files, the topmost first, with storage in ${storage}`, { timeout: TIMEOUT_MS }, async () => {
      await using lab = await openUnpackLab(storage);
      const low = await lab.unpack(tarArchive(...LOWER));
      const high = await lab.unpack(tarArchive(...UPPER));
      await using sandbox = await lab.sandbox(high.layer, low.layer);
      const script =
        "cd /etc; find keep hidden gone replaced late implied own was-link /.wh* .wh* -type f 2>/dev/null | LC_ALL=C sort; cat own";
      expect((await run(sandbox.guest, script, { user: "root" })).stdout.toString().split("\n")).toEqual(
        ["hidden/high", "implied/high", "keep/high", "keep/low", "late/high", "own", "replaced/high", "high"], // prettier-ignore
      );
      expect((await run(sandbox.guest, "echo new > /etc/keep/low && rm -r /etc/hidden && mv /etc/replaced /etc/moved && cat /etc/moved/high", { user: "root" })).stdout.toString()).toBe("etc/replaced/high"); // prettier-ignore
    });

  it("sees owners, modes, times and attributes, but no rights that a file gives", async () => {
    await using lab = await openUnpackLab();
    const rights = {
      "SCHILY.xattr.security.capability": Buffer.from("AQAAAgAAAAAAAAAAAAAAAAAAAAA=", "base64"),
      "SCHILY.xattr.trusted.overlay.opaque": "y",
    };
    const attributes = { ...rights, "SCHILY.xattr.user.overlay.opaque": "y", "SCHILY.xattr.user.colour": "bl\0ue" };
    const low = await lab.unpack(tarArchive(file("etc/marked/low")));
    const { layer } = await lab.unpack(
      tarArchive(
        { ...file("etc/program"), mode: 0o4755, uid: 1000, gid: 1000, pax: { ...attributes, mtime: "1234567890.5" } },
        { ...folder("etc/marked"), pax: attributes },
      ),
    );
    await using sandbox = await lab.sandbox(layer, low.layer);
    const script = `import os
for path in ("/etc/program", "/etc/marked"): print(sorted(os.listxattr(path)), os.getxattr(path, "user.colour"))
found = os.stat("/etc/program"); print(oct(found.st_mode), found.st_uid, found.st_mtime, len(os.listdir("/etc/marked")))`;
    const { stdout } = await run(sandbox.guest, `python3 -c '${script}'`, { user: "root" });
    expect(stdout.toString()).toBe(`['user.colour'] b'bl\\x00ue'\n['user.colour'] b'bl\\x00ue'\n0o104755 1000 1234567890.5 1\n`);
  });

  it.skipIf(isRoot)(`has files of one id, where an ordinary user has no others${isRoot ? " (skipped: root has)" : ""}`, async () => {
    await using lab = await openUnpackLab("home", "single");
    const entries = [
      { ...file("etc/program"), mode: 0o4755, uid: 33, gid: 44 },
      { ...folder("etc/closed"), mode: 0 },
      file("etc/closed/file"),
      { name: "etc/fifo", type: "fifo", uid: 5 },
      { ...link("etc/link", "program"), uid: 6 },
      file("etc/.wh.hostname", ""),
    ] as const;
    const { layer } = await lab.unpack(tarArchive(...entries));
    const names = readdirSync(join(lab.root(layer), "etc")).toSorted();
    expect(names).toEqual(["closed", "fifo", "hostname", "link", "program"]);
    for (const name of names) expect(lstatSync(join(lab.root(layer), "etc", name)).uid).toBe(process.getuid?.());
    await using sandbox = await lab.sandbox(layer);
    const script = "cd /etc; stat -c '%a %F' closed program fifo link; ls hostname; chmod 700 closed; cat closed/file link";
    const { stdout } = await run(sandbox.guest, script);
    expect(stdout.toString()).toBe("0 directory\n4755 regular file\n644 fifo\n777 symbolic link\netc/closed/fileetc/program");
  });
});
