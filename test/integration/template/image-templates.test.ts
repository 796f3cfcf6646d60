import { execFileSync } from "node:child_process";
import { readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { gzipSync } from "node:zlib";
import { expect, it } from "vitest";
import { BelljarError } from "../../../src/errors.ts";
import { LOCAL, type Principal } from "../../../src/sandbox/sandbox.ts";
import { addScratch, addShell, layerOf, type LayerFill, put } from "../../support/image-lab.ts";
import { addImage, BlobStore, digestOf, type Folder, type Json, tarOf, temporaryFolder, writeLayout } from "../../support/image-maker.ts";
import { shell, STATE_STORAGES } from "../../support/state-home.ts";
import { openTemplateHome, type TemplateHome } from "../../support/template-home.ts";

const signal = new AbortController().signal;
const TOKEN: Principal = { id: "local", name: "agent", grants: {} };
const PASSWD = "root:x:0:0::/root:/bin/sh\nann:x:1234:1234::/home/ann:/bin/sh\n";

const withShell: LayerFill = (root) => {
  addShell(root);
  put(root, "etc/passwd", PASSWD);
  put(root, "home/ann/.keep");
  put(root, "srv/app/first", "from below");
};

async function writeImage(plains: readonly Buffer[], config: Json = {}): Promise<Folder> {
  const store = new BlobStore();
  const image = addImage(store, { layers: plains.map((plain) => ({ plain })), config: { config } });
  return writeLayout(store, [image]);
}

async function start(home: TemplateHome, template: string) {
  return home.sandboxes.create(LOCAL, { template }, signal);
}

for (const storage of STATE_STORAGES) {
  it(`an image is a template, with storage in ${storage}`, async () => {
    await using home = await openTemplateHome({ storage });
    const above = tarOf([{ name: "srv/app/.wh.first" }, { name: "srv/app/second", content: "from above" }]);
    const config = {
      Env: ["PATH=/bin", "GREETING=hello there"],
      User: "ann",
      WorkingDir: "/srv/app",
      Entrypoint: ["sh"],
      Cmd: ["-c", "ls"],
    };
    await using image = await writeImage([await layerOf(withShell), above], config);
    const made = await home.templates.make(LOCAL, { name: "app", image: image.path }, signal);
    expect(made).toMatchObject({
      base: "bare",
      layers: 2,
      user: "ann",
      cwd: "/srv/app",
      command: ["sh", "-c", "ls"],
      env: { GREETING: "hello there" },
    });
    const sandbox = await start(home, "app");
    expect(await shell(sandbox, 'id -u; echo "$GREETING"; pwd; ls; cat second; echo; echo "$HOME"; touch "$HOME/mine"; ls /usr')).toBe(
      "1234\nhello there\n/srv/app\nsecond\nfrom above\n/home/ann",
    );
    const { id } = await sandbox.timeLine.checkpoint({}, signal);
    await shell(sandbox, "rm ~/mine");
    const { sandbox: back } = await sandbox.timeLine.rollback(id, signal);
    expect(await shell(back, "ls ~; cat /srv/app/second")).toBe("mine\nfrom above");
    const [fork] = await home.sandboxes.snapshots.fork(LOCAL, { sandbox: sandbox.id }, {}, signal);
    expect(await shell(fork!, "id -u; ls ~")).toBe("1234\nmine");
  });
}

it.each([
  ["a file", { name: "etc/resolv.conf", content: "nameserver 192.0.2.1\n" }],
  ["an empty file", { name: "etc/resolv.conf" }],
  ["a link that leads nowhere", { name: "etc/resolv.conf", type: "2", link: "../run/systemd/resolve/stub-resolv.conf" }],
  ["a whiteout", { name: "etc/.wh.resolv.conf" }],
] as const)("the name server is Belljar's, whatever the image has in its place: %s", async (_what, entry) => {
  await using home = await openTemplateHome();
  await using image = await writeImage([await layerOf(withShell), tarOf([entry])]);
  await home.templates.make(LOCAL, { name: "app", image: image.path }, signal);
  expect(await shell(await start(home, "app"), "cat /etc/resolv.conf")).toMatch(/^nameserver 127\.0\.0\.1\n/);
});

it("an image is taken in which another file is the same one as its name servers'", async () => {
  await using home = await openTemplateHome();
  const names = tarOf([{ name: "etc/resolv.conf" }, { name: "etc/empty", type: "1", link: "etc/resolv.conf" }]);
  await using image = await writeImage([await layerOf(withShell), names]);
  await home.templates.make(LOCAL, { name: "app", image: image.path }, signal);
  expect(await shell(await start(home, "app"), "test -f /etc/empty && cat /etc/resolv.conf")).toMatch(/^nameserver 127\.0\.0\.1\n/);
});

it("an image with one program and nothing else is a template", async () => {
  await using home = await openTemplateHome();
  await using image = await writeImage([await layerOf((root) => addScratch(root))]);
  await home.templates.make(LOCAL, { name: "scratch", image: image.path }, signal);
  const sandbox = await start(home, "scratch");
  expect((await sandbox.guest.run({ argv: ["/scratch"], signal })).exitCode).toBe(0);
  await expect(sandbox.guest.run({ argv: ["sh", "-c", "true"], signal })).rejects.toMatchObject({ code: "COMMAND_NOT_FOUND" });
});

it("images share the layers that they have in common, and layers go with their last user", async () => {
  await using home = await openTemplateHome();
  const below = await layerOf(withShell);
  await using one = await writeImage([below, tarOf({ "srv/one": "1" })]);
  await using other = await writeImage([below, tarOf({ "srv/two": "2" })]);
  await home.templates.make(LOCAL, { name: "one", image: one.path }, signal);
  await home.templates.make(LOCAL, { name: "two", image: other.path }, signal);
  expect(await home.layers()).toHaveLength(3);
  await home.templates.remove(LOCAL, "one");
  expect(await home.layers()).toHaveLength(2);
  expect(await shell(await start(home, "two"), "cat /srv/two")).toBe("2");
  await home.templates.make(LOCAL, { name: "one", image: one.path }, signal);
  expect(await shell(await start(home, "one"), "cat /srv/one")).toBe("1");
});

it("an image of many layers shows them as one, and shares its parts", async () => {
  await using home = await openTemplateHome();
  const above = Array.from({ length: 11 }, (_, index) =>
    tarOf([
      { name: `srv/app/.wh.${index === 0 ? "first" : `of-${index - 1}`}` },
      { name: `srv/app/of-${index}`, content: String(index) },
      { name: "srv/app/last", content: String(index) },
    ]),
  );
  const below = await layerOf(withShell);
  await using many = await writeImage([below, ...above]);
  await using few = await writeImage([below]);
  expect(await home.templates.make(LOCAL, { name: "many", image: many.path }, signal)).toMatchObject({ layers: 12 });
  expect(await home.layers()).toHaveLength(13);
  const sandbox = await start(home, "many");
  expect(await shell(sandbox, "ls /srv/app; cat /srv/app/last")).toBe("last\nof-10\n10");
  const points = [];
  for (let count = 0; count < 10; count += 1) points.push(await sandbox.timeLine.checkpoint({}, signal));
  expect(new Set(points.map(({ way }) => way))).toEqual(new Set(["clone"]));
  await home.templates.make(LOCAL, { name: "few", image: few.path }, signal);
  await home.templates.remove(LOCAL, "many");
  await (await home.sandboxes.get(LOCAL, sandbox.id)).kill();
  await home.sweepOld();
  expect(await home.layers()).toHaveLength(1);
  expect(await shell(await start(home, "few"), "cat /srv/app/first")).toBe("from below");
});

it("a whiteout of nothing shows nothing", async () => {
  await using home = await openTemplateHome();
  await using image = await writeImage([
    await layerOf(withShell),
    tarOf({ "own/.wh.nothing": "", "own/.wh..wh..opq": "", "own/file": "" }),
  ]);
  await home.templates.make(LOCAL, { name: "odd", image: image.path }, signal);
  expect(await shell(await start(home, "odd"), "ls -A /own")).toBe("file");
});

it("an archive of docker save is a template, compressed too", async () => {
  await using home = await openTemplateHome();
  await using layout = await writeImage([await layerOf(withShell)]);
  await using folder = await temporaryFolder();
  const archive = execFileSync("tar", ["-C", layout.path, "-c", "."], { maxBuffer: 2 ** 28 });
  put(folder.path, "image.tar.gz", "");
  await writeFile(join(folder.path, "image.tar.gz"), gzipSync(archive));
  await home.templates.make(LOCAL, { name: "saved", image: join(folder.path, "image.tar.gz") }, signal);
  expect(await shell(await start(home, "saved"), "cat /srv/app/first")).toBe("from below");
});

it.each([
  ["lies about a layer", (): Promise<Folder> => lying(), "IMAGE_INVALID"],
  ["is too large", async (): Promise<Folder> => writeImage([tarOf({ big: Buffer.alloc(3_000_000, 1) })]), "IMAGE_TOO_LARGE"],
  ["breaks out", async (): Promise<Folder> => writeImage([tarOf([{ name: "../../out", content: "x" }])]), "IMAGE_INVALID"],
  ["has a user that is none", async (): Promise<Folder> => writeImage([tarOf({ a: "a" })], { User: "a b\nc" }), "IMAGE_INVALID"],
])("an image that %s is no template, and leaves nothing", async (_name, write, code) => {
  await using home = await openTemplateHome({ maxBytes: 2_000_000 });
  await using image = await write();
  await expect(home.templates.make(LOCAL, { name: "bad", image: image.path }, signal)).rejects.toMatchObject({ code });
  expect(await home.templates.list(LOCAL)).toEqual([]);
  await home.sweepOld();
  expect(await home.layers()).toEqual([]);
  expect((await readdir(join(home.crash.home, "templates"))).filter((name) => name.length === 20)).toEqual([]);
});

it("a caller with a token reads no image of the host that it was not granted", async () => {
  await using home = await openTemplateHome();
  await using image = await writeImage([tarOf({ a: "a" })]);
  const made = (principal: Principal) => home.templates.make(principal, { name: "mine", image: image.path }, signal);
  await expect(made(TOKEN)).rejects.toMatchObject({ code: "FORBIDDEN" });
  await expect(made({ ...TOKEN, grants: { workspaces: [{ path: image.path, mode: "ro" }] } })).resolves.toMatchObject({ name: "mine" });
});

it("a caller with a token reaches no image by the way of a folder that it was granted", async () => {
  await using home = await openTemplateHome();
  await using image = await writeImage([tarOf({ a: "a" })]);
  await using granted = await temporaryFolder();
  await symlink(image.path, join(granted.path, "link"));
  const caller: Principal = { ...TOKEN, grants: { workspaces: [{ path: granted.path, mode: "rw" }] } };
  const make = (path: string) => home.templates.make(caller, { name: "mine", image: path }, signal);
  await expect(make(`${granted.path}/../${basename(image.path)}`)).rejects.toMatchObject({ code: "ARGUMENTS_INVALID" });
  await expect(make(join(granted.path, "link"))).rejects.toMatchObject({ code: "FORBIDDEN" });
  await symlink(join(image.path, "index.json"), join(granted.path, "index.json"));
  await symlink(join(image.path, "oci-layout"), join(granted.path, "oci-layout"));
  await expect(make(granted.path)).rejects.toMatchObject({ code: "IMAGE_INVALID" });
});

it("a caller without a token on a port reads no image of the host", async () => {
  await using home = await openTemplateHome();
  await using image = await writeImage([tarOf({ a: "a" })]);
  const made = home.templates.make({ ...LOCAL, isAnybody: true }, { name: "mine", image: image.path }, signal);
  await expect(made).rejects.toMatchObject({ code: "FORBIDDEN" });
});

it("whoever knows the digest of another owner's layer does not get it", async () => {
  await using home = await openTemplateHome();
  const plain = tarOf({ "srv/secret": "of somebody else" });
  await using image = await writeImage([plain]);
  await home.templates.make(LOCAL, { name: "mine", image: image.path }, signal);
  await using without = await writeImage([plain]);
  await rm(join(without.path, "blobs/sha256", digestOf(gzipSync(plain)).slice("sha256:".length)));
  const other: Principal = { id: "other", name: "other" };
  await expect(home.templates.make(other, { name: "mine", image: without.path }, signal)).rejects.toThrow(BelljarError);
  await using whole = await writeImage([plain]);
  await home.templates.make(other, { name: "mine", image: whole.path }, signal);
  expect(await home.layers()).toHaveLength(2);
});

it("a layer that a power cut has left in part is unpacked again", async () => {
  await using home = await openTemplateHome();
  await using image = await writeImage([await layerOf(withShell)]);
  await home.templates.make(LOCAL, { name: "one", image: image.path }, signal);
  const [layer = ""] = await home.layers();
  const folder = join(home.crash.home, "layers", layer);
  const facts = JSON.parse(await readFile(join(folder, "layer.json"), "utf8")) as object;
  await writeFile(join(folder, "layer.json"), JSON.stringify({ ...facts, boot: "another" }));
  await rm(join(folder, "flushed"), { force: true });
  await (await home.openTemplates()).make(LOCAL, { name: "two", image: image.path }, signal);
  expect(await home.layers()).toHaveLength(2);
});

it("a quota of bytes holds for all templates of an owner", async () => {
  await using home = await openTemplateHome({ quotas: { templateBytes: 1_500_000 } });
  await using image = await writeImage([tarOf({ big: Buffer.alloc(1_000_000, 1) })]);
  const make = (name: string) => home.templates.make(LOCAL, { name, image: image.path }, signal);
  await make("one");
  await expect(make("two")).rejects.toMatchObject({ code: "QUOTA_EXCEEDED" });
  await make("one");
  expect((await home.templates.list(LOCAL)).map(({ name }) => name)).toEqual(["one"]);
});

it("a quota of bytes bounds an image before its files are written", async () => {
  await using home = await openTemplateHome({ quotas: { templateBytes: 1_500_000 } });
  // Whoever reads all of it would find the lie at its end.
  await using image = await lying("x".repeat(3_000_000));
  await expect(home.templates.make(LOCAL, { name: "large", image: image.path }, signal)).rejects.toMatchObject({ code: "QUOTA_EXCEEDED" });
  expect(await home.layers()).toEqual([]);
});

it("a quota of bytes holds for templates that are made at once", async () => {
  await using home = await openTemplateHome({ quotas: { templateBytes: 2_200_000 }, maxBytes: 1_100_000 });
  const images = await Promise.all(["one", "two", "three"].map((name) => writeImage([tarOf({ [name]: Buffer.alloc(1_000_000, name) })])));
  try {
    const makings = images.map(({ path }, at) => home.templates.make(LOCAL, { name: `of-${at}`, image: path }, signal));
    const outcomes = await Promise.allSettled(makings);
    // The third could be too large until it is known how large the others are.
    const refused = outcomes.flatMap((one) => (one.status === "rejected" ? [(one.reason as BelljarError).code] : []));
    expect(refused).toEqual([expect.stringMatching(/^(?:TEMPLATE_BUSY|QUOTA_EXCEEDED)$/)]);
    expect((await home.templates.list(LOCAL)).reduce((sum, { bytes }) => sum + bytes, 0)).toBeLessThanOrEqual(2_200_000);
    const late = home.templates.make(
      LOCAL,
      { name: "late", image: images[outcomes.findIndex(({ status }) => status === "rejected")]!.path },
      signal,
    );
    await expect(late).rejects.toMatchObject({ code: "QUOTA_EXCEEDED" });
  } finally {
    for (const image of images) await image[Symbol.asyncDispose]();
  }
});

it("a quota of bytes bounds templates that are made at once before their files are written", async () => {
  await using home = await openTemplateHome({ quotas: { templateBytes: 2_000_000 }, maxBytes: 1_900_000 });
  await using one = await lying("x".repeat(1_000_000));
  await using other = await lying("y".repeat(1_000_000));
  const makings = [one, other].map(({ path }, at) => home.templates.make(LOCAL, { name: `of-${at}`, image: path }, signal));
  const codes = (await Promise.allSettled(makings)).map((made) => (made.status === "rejected" ? (made.reason as BelljarError).code : ""));
  // Only one of them was read to its end.
  expect(codes.toSorted()).toEqual(["IMAGE_INVALID", "QUOTA_EXCEEDED"]);
});

async function lying(text = "b"): Promise<Folder> {
  const store = new BlobStore();
  const plain = tarOf({ a: `a${text.slice(1)}` });
  return writeLayout(store, [addImage(store, { layers: [{ plain, stored: gzipSync(tarOf({ a: text })) }] })]);
}
