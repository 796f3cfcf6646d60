import { readFileSync } from "node:fs";
import { join, posix } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { findIdMap } from "../../../src/runtime/namespace/id-map.ts";
import { LOCAL } from "../../../src/sandbox/sandbox.ts";
import { addImage, BlobStore, temporaryFolder, writeLayout } from "../../support/image-maker.ts";
import { type TarEntry, tarArchive } from "../../support/tar-archive.ts";
import { compileTellAll, tellDifferences, type ToldEntry } from "../../support/tell-all.ts";
import { openTemplateHome } from "../../support/template-home.ts";
import { hasUmoci, tellByUmoci } from "../../support/umoci.ts";

const signal = new AbortController().signal;
const isRoot = process.getuid?.() === 0;
const MISSING = "the packages skopeo and umoci are not installed: npm run setup";
const TIMEOUT_MS = 120_000;
/** The times that the images name are all older. */
const RECENT = 1_700_000_000;

let program: Buffer;

beforeAll(async () => {
  await using folder = await temporaryFolder();
  compileTellAll(join(folder.path, "tell-all"));
  program = readFileSync(join(folder.path, "tell-all"));
});

const folder = (name: string, more: Partial<TarEntry> = {}): TarEntry => ({ name: `${name}/`, type: "folder", mode: 0o755, ...more });
const file = (name: string, content: string | Buffer = name, more: Partial<TarEntry> = {}): TarEntry => ({ name, content, ...more });
const link = (name: string, to: string): TarEntry => ({ name, type: "link", link: to, mode: 0o777, mtime: 1_111_111_111 });
const hardLink = (name: string, to: string): TarEntry => ({ name, type: "hard-link", link: to });
const whiteout = (name: string): TarEntry => file(posix.join(posix.dirname(name), `.wh.${posix.basename(name)}`), "");
const opaque = (name: string): TarEntry => file(`${name}/.wh..wh..opq`, "");

interface Seen {
  readonly ours: readonly ToldEntry[];
  readonly others: readonly ToldEntry[];
}

/** The image of these layers, the lowest first, as a sandbox on its template shows it, and as umoci unpacks it. */
async function seeBoth(...layers: readonly (readonly TarEntry[])[]): Promise<Seen> {
  const store = new BlobStore();
  const first = [folder(".", { mtime: 1_000_000_007 }), file("tell-all", program, { mode: 0o755 })];
  const plains = layers.map((entries, index) => tarArchive(...(index === 0 ? first : []), ...entries));
  await using layout = await writeLayout(store, [addImage(store, { layers: plains.map((plain) => ({ plain })) })]);
  await using home = await openTemplateHome();
  await home.templates.make(LOCAL, { name: "image", image: layout.path }, signal);
  const sandbox = await home.sandboxes.create(LOCAL, { template: "image" }, signal);
  const { stdout, stderr, exitCode } = await sandbox.guest.run({ argv: ["/tell-all", "/"], user: "root", signal });
  expect([exitCode, stderr.toString()]).toEqual([0, ""]);
  return { ours: JSON.parse(stdout.toString()) as ToldEntry[], others: await tellByUmoci(layout.path) };
}

const LONG = "long-".repeat(30);
const CAPABILITY = Buffer.from("AQAAAgAgAAAAAAAAAAAAAAAAAAA=", "base64"); // as setcap writes cap_net_raw

/** Only root's umoci makes these. */
const FOR_ROOT: readonly TarEntry[] = [
  { name: "dev/console", type: "characters" as const },
  { name: "srv/disk", type: "blocks" as const, mode: 0o660 },
  file("srv/far", "", { pax: { uid: "70000", gid: "4294967294" } }),
].filter(() => isRoot);

const PLAIN = [
  folder("srv", { mode: 0o750, uid: 7, gid: 8, mtime: 1_000_000_001 }),
  file("srv/text", "a text\n", { mode: 0o640, uid: 1000, gid: 1000, mtime: 1_234_567_890 }),
  file("srv/empty", "", { mode: 0o0 }),
  file("srv/large", Buffer.alloc(3_000_001, "abc"), { mode: 0o444, uid: 65_535, gid: 65_535 }),
  file("srv/new\nline", "x"),
  file("srv/Case", "A"),
  file("srv/case", "a"),
  link("srv/link", "../etc/passwd"),
  link("srv/nowhere", "/not/there"),
  { name: "srv/pipe", type: "fifo", mode: 0o622 },
  folder("srv/sticky", { mode: 0o1777 }),
  folder("srv/group", { mode: 0o2755, gid: 50 }),
  folder("etc", { mode: 0o711, mtime: 1_000_000_011 }),
  ...["passwd", "group", "hosts", "hostname", "nsswitch.conf", "resolv.conf"].map((name) =>
    file(`etc/${name}`, "of the image\n", { mode: 0o600, uid: 1 }),
  ),
  folder("dev", { mode: 0o700 }),
  ...FOR_ROOT,
  folder("opt", { mode: 0o700, mtime: 1_000_000_012 }),
  file("opt/own"),
  folder("opt/belljar"),
  file("opt/belljar/fake"),
  folder("tmp", { mode: 0o1733, mtime: 1_000_000_013 }),
  folder("root", { mode: 0o710, mtime: 1_000_000_014 }),
  folder("var/tmp", { mode: 0o700, mtime: 1_000_000_015 }),
  folder("run", { mode: 0o700, mtime: 1_000_000_016 }),
  file("run/own"),
  folder("proc", { mode: 0o500 }),
] as const satisfies readonly TarEntry[];

const WHITEOUTS = [
  [
    folder("data", { mode: 0o711, uid: 3, gid: 4, mtime: 1_000_000_002 }),
    ...["gone", "kept", "back"].map((name) => file(`data/${name}`)),
    folder("data/hidden", { mode: 0o700 }),
    file("data/hidden/one"),
    folder("data/hidden/deep", { mode: 0o700 }),
    file("data/hidden/deep/two"),
    folder("data/all"),
    file("data/all/three"),
  ],
  [whiteout("data/gone"), whiteout("data/back"), opaque("data/hidden"), file("data/hidden/new"), whiteout("data/all")],
  [
    file("data/back", "again"),
    folder("data/hidden/deep", { mode: 0o755, uid: 9 }),
    file("data/hidden/deep/four"),
    whiteout("data/hidden/new"),
    folder("data/all", { mode: 0o500 }),
    file("data/all/five"),
    whiteout("data/never"),
  ],
  [opaque("data/all"), whiteout("data/kept")],
];

const LINKS = [
  [
    folder("bin", { mode: 0o751, uid: 2, gid: 2, mtime: 1_000_000_003 }),
    file("bin/tool", "tool", { mode: 0o4755, uid: 0, gid: 0, mtime: 1_000_000_004 }),
    hardLink("bin/same", "bin/tool"),
    file("bin/group", "group", { mode: 0o2755, gid: 50 }),
    file("bin/low", "low", { mode: 0o6711, uid: 11, gid: 12, mtime: 1_000_000_005, pax: { "SCHILY.xattr.user.colour": "blue" } }),
    link("bin/link", "low"),
    file("sparse", Buffer.alloc(200_000), {}),
    { ...file("marked"), pax: { "SCHILY.xattr.user.one": "1", "SCHILY.xattr.user.two": Buffer.from([0, 1, 255]) } },
    { ...file("rights"), pax: { "SCHILY.xattr.security.capability": CAPABILITY, "SCHILY.xattr.trusted.mine": "t" } },
    file("short", "a long name", { pax: { path: `${LONG}/${LONG}/${LONG}`, mtime: "1222333444.123456789" } }),
    { name: "short-link", type: "link", link: "short", pax: { path: `${LONG}/link`, linkpath: `${LONG}/${LONG}/to` } },
  ],
  [
    hardLink("bin/third", "bin/tool"),
    hardLink("other/place", "bin/low"),
    hardLink("other/link", "bin/link"),
    file("bin/group", "changed", { mode: 0o755 }),
    { ...file("marked", "without") },
  ],
  [hardLink("bin/again", "other/place")],
] as const satisfies readonly (readonly TarEntry[])[];

const REPLACED = [
  [
    folder("usr", { mode: 0o755, mtime: 1_000_000_006 }),
    folder("usr/lib", { mode: 0o711, uid: 5, gid: 6, mtime: 1_000_000_008, pax: { "SCHILY.xattr.user.of": "below" } }),
    file("usr/lib/first"),
    link("lib", "usr/lib"),
    link("lib64", "lib"),
    folder("was-folder", { mode: 0o700 }),
    file("was-folder/inner"),
    file("was-file"),
    folder("strict", { mode: 0o700, uid: 21, gid: 22, mtime: 1_000_000_009 }),
    folder("strict/inner", { mode: 0o1730, uid: 23, gid: 24, mtime: 1_000_000_010 }),
    link("to-folder", "strict"),
  ],
  [
    file("lib/through-link"),
    file("lib64/through-two", "2", { mode: 0o600 }),
    file("was-folder", "now a file"),
    folder("was-file", { mode: 0o750 }),
    file("was-file/inner"),
    file("strict/inner/untold"),
  ],
  [
    folder("was-folder", { mode: 0o711 }),
    file("was-folder/back"),
    file("was-file", "a file again"),
    file("strict/untold"),
    whiteout("lib/first"),
    folder("to-folder", { mode: 0o710 }),
    file("to-folder/own"),
    file("new/parents/of", "nothing"),
  ],
  [folder("lib", { mode: 0o755 }), file("lib/a-folder-now"), hardLink("usr/lib/linked", "usr/lib/through-two")],
];

const MANY = Array.from({ length: 130 }, (_, index) => [
  ...(index === 0 ? [folder("all", { mode: 0o731, uid: 31, gid: 32 }), folder("all/rest", { mode: 0o700, uid: 33 })] : []),
  file(`all/of-${index}`, String(index), { mode: 0o600 + (index % 8), uid: index }),
  ...(index % 3 === 2 ? [whiteout(`all/of-${index - 1}`)] : []),
  ...(index % 50 === 49 ? [opaque("all/rest")] : []),
  file(`all/rest/of-${index}`, String(index)),
  file("all/last", String(index)),
]);

/** What every sandbox has, where its image has nothing. */
const BARE = [
  "dev",
  "etc",
  "home",
  "home/user",
  "opt",
  "opt/belljar",
  "proc",
  "root",
  "run",
  "run/belljar",
  "sys",
  "tmp",
  "var",
  "var/tmp",
  ...["group", "hostname", "hosts", "nsswitch.conf", "passwd", "resolv.conf"].map((name) => `etc/${name}`),
].map((path) => `/${path}`);
/** The root's time is that of the sandbox's own layer, which lies over the image. */
const ROOT = '/: mtime "now", theirs "1000000007.000000000"';

/** What is not as umoci has it, in the order of paths. */
const IMAGES: readonly (readonly [string, readonly (readonly TarEntry[])[], readonly string[]])[] = [
  [
    "files of all kinds",
    [PLAIN],
    [
      // The kernel's own file systems and Belljar's own programs are mounted over what the image has there.
      '/dev: mode "40755", theirs "40700"',
      '/dev: mtime "now", theirs "1000000000.000000000"',
      '/proc: mode "40555", theirs "40500"',
      "/proc: uid 65534, theirs 0",
      "/proc: gid 65534, theirs 0",
      '/proc: mtime "now", theirs "1000000000.000000000"',
      '/opt/belljar: mtime "now", theirs "1000000000.000000000"',
      "/opt/belljar/fake: only theirs",
      ...["/dev", "/opt/belljar"].flatMap((path) => [`${path}: uid 1000, theirs 0`, `${path}: gid 1000, theirs 0`]).filter(() => !isRoot),
      // The sandbox's own host name has a line.
      '/etc/hosts: mtime "now", theirs "1000000000.000000000"',
      "/etc/hosts: size 59, theirs 13",
      "/etc/hosts: digest",
      // Its name server is Belljar's.
      '/etc/resolv.conf: mode "100644", theirs "100600"',
      '/etc/resolv.conf: mtime "now", theirs "1000000000.000000000"',
      "/etc/resolv.conf: size 57, theirs 13",
      "/etc/resolv.conf: digest",
      ...(isRoot
        ? ["/etc/resolv.conf: uid 0, theirs 1"]
        : ["/etc/resolv.conf: uid 1000, theirs 1", "/etc/resolv.conf: gid 1000, theirs 0"]),
      // No sandbox has devices of an image, or so many ids.
      ...["/srv/disk: only theirs", "/srv/far: uid 65534, theirs 70000", "/srv/far: gid 65534, theirs 4294967294"].filter(() => isRoot),
    ],
  ],
  ["whiteouts and opaque folders of several layers", WHITEOUTS, [ROOT]],
  [
    "links, attributes and long names",
    LINKS,
    [
      // Of a file that a higher layer links to, its other names of lower layers keep a file of their own, as with every overlay.
      '/bin/low: file "/bin/low", theirs "/bin/again"',
      '/bin/third: file "/bin/third", theirs "/bin/same"',
      '/bin/tool: file "/bin/third", theirs "/bin/same"',
      `/rights: attributes {}, theirs ${JSON.stringify({ "security.capability": CAPABILITY.toString("latin1"), ...(isRoot && { "trusted.mine": "t" }) })}`,
    ],
  ],
  ["folders, files and links in each other's place", REPLACED, []],
  ["130 layers", MANY, [ROOT]],
];

const nowOr = (entry: ToldEntry): ToldEntry => (Number(entry.mtime) > RECENT ? { ...entry, mtime: "now" } : entry);

describe("a sandbox on a template of an image shows what skopeo and umoci make of it", () => {
  for (const [name, layers, different] of IMAGES)
    it(`with ${name}`, { timeout: TIMEOUT_MS }, async ({ skip }) => {
      skip(!hasUmoci, MISSING);
      skip(findIdMap().kind === "single", "this user has no ids to give files to");
      const { ours, others } = await seeBoth(...layers);
      const isOwn = ({ path }: ToldEntry): boolean => path.startsWith("/opt/belljar/");
      const known = new Set(others.map(({ path }) => path));
      const differences = tellDifferences(ours.filter((one) => !isOwn(one)).map(nowOr), others.map(nowOr));
      const added = BARE.filter((path) => !known.has(path)).map((path) => `${path}: only ours`);
      const told = differences.map((line) => line.replace(/^(\/etc\/(?:hosts|resolv\.conf): digest) .*/, "$1"));
      expect(told.toSorted()).toEqual([...different, ...added].toSorted());
    });
});
