import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, readlinkSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { expect, it } from "vitest";
import { run } from "../contract/contract-sandbox.ts";
import { encodeEntry, type TarEntry, tarArchive } from "../support/tar-archive.ts";
import { openUnpackLab, tellTree } from "../support/unpack-lab.ts";
import { verifies } from "./verifies.ts";

const isRoot = process.getuid?.() === 0;
const CANONICAL = 1_000_000_000;

/** Archives that write into a folder beside the one that they are unpacked in, or that change a file there. */
function attacksOn(outside: string): Readonly<Record<string, readonly TarEntry[]>> {
  const stolen = (name: string): TarEntry => ({ name, content: "written by the archive" });
  const link = (name: string, to: string): TarEntry => ({ name, type: "link", link: to });
  return {
    upwards: [stolen("../outside/upwards")],
    absolute: [stolen(join(outside, "absolute"))],
    "through-link": [link("door", "../outside"), stolen("door/through-link")],
    "through-absolute-link": [link("door", outside), stolen("door/through-absolute-link")],
    "through-two-links": [link("one", "."), link("one/two", "../outside"), stolen("two/through-two-links")],
    "through-late-link": [{ name: "door", type: "folder", mode: 0o755 }, link("door", "../outside"), stolen("door/through-late-link")],
    "over-hard-link": [{ name: "name", type: "hard-link", link: join(outside, "victim") }, { name: "name", pax: { path: "./name" }, mode: 0o777, content: "" }], // prettier-ignore
  };
}

/** The same over a layer that has the links. */
function attacksOverLayers(outside: string): Readonly<Record<string, readonly [readonly TarEntry[], readonly TarEntry[]]>> {
  const stolen = (name: string): TarEntry => ({ name, content: "written by the archive" });
  const link = (name: string, to: string): TarEntry => ({ name, type: "link", link: to });
  const doors = [link("far", outside), link("near", "../outside")];
  const taken = (name: string, from: string): TarEntry => ({ name, type: "hard-link", link: from });
  return {
    "through-lower-link": [doors, [stolen("far/absolute"), stolen("near/beside")]],
    "hard-link-of-lower-link": [doors, [taken("mine", "far/victim"), { ...stolen("mine"), pax: { path: "./mine" } }]],
  };
}

/** What plain tar does when it believes the names. */
function unpackByTar(folder: string, archive: Buffer): void {
  const taken = join(folder, "taken");
  mkdirSync(taken);
  try {
    execFileSync("tar", ["-xPf", "-", "--overwrite", "-C", taken], { input: archive, stdio: ["pipe", "ignore", "ignore"] });
  } finally {
    rmSync(taken, { recursive: true });
  }
}

function makeOutside(beside: string): string {
  const outside = join(beside, "outside");
  mkdirSync(outside);
  writeFileSync(join(outside, "victim"), "as it was");
  return outside;
}

/** What changed there. */
function tellChanges(outside: string): readonly string[] {
  return [...readdirSync(outside), readFileSync(join(outside, "victim"), "utf8")].filter(
    (text) => text !== "victim" && text !== "as it was",
  );
}

verifies("image-layers-stay-inside", async () => {
  await using lab = await openUnpackLab();
  const folder = mkdtempSync(join(tmpdir(), "belljar-image-"));
  try {
    const plain = makeOutside(folder);
    for (const [name, entries] of Object.entries(attacksOn(plain))) {
      unpackByTar(folder, tarArchive(...entries));
      expect(tellChanges(plain), `tar ${name}`).not.toEqual([]);
      rmSync(plain, { recursive: true });
      makeOutside(folder);
    }
    for (const [name, entries] of Object.entries(attacksOn(plain))) {
      const before = lab.layers();
      const made = await lab.unpack(tarArchive(...entries)).catch((cause: unknown) => cause as { readonly code: string });
      expect("code" in made ? made.code : "unpacked", name).toMatch(/^(?:IMAGE_INVALID|unpacked)$/);
      expect(tellChanges(plain), name).toEqual([]);
      const fresh = lab.layers().filter((id) => !before.includes(id));
      expect(fresh, name).toEqual("code" in made ? [] : [made.layer]);
      for (const id of fresh) expect(tellTree(join(lab.home.path, "layers", id, "tree")).filter((line) => !line.startsWith("root/upper"))).toHaveLength(1); // prettier-ignore
    }
    for (const [name, [low, high]] of Object.entries(attacksOverLayers(plain))) {
      unpackByTar(folder, tarArchive(...low, ...high));
      expect(tellChanges(plain), `tar ${name}`).not.toEqual([]);
      rmSync(plain, { recursive: true });
      makeOutside(folder);
      const { layer } = await lab.unpack(tarArchive(...low));
      const before = tellTree(lab.root(layer), { times: true });
      const made = await lab.unpack(tarArchive(...high), { below: [layer] }).catch((cause: unknown) => cause as { readonly code: string });
      expect("code" in made ? made.code : "unpacked", name).toMatch(/^(?:IMAGE_INVALID|unpacked)$/);
      expect([tellChanges(plain), tellTree(lab.root(layer), { times: true })], name).toEqual([[], before]);
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

it("no program gains a device or a capability by a layer of an image", async () => {
  await using lab = await openUnpackLab();
  const capability = Buffer.from("AQAAAgAgAAAAAAAAAAAAAAAAAAA=", "base64"); // as setcap writes cap_net_raw
  const { layer, skipped } = await lab.unpack(
    tarArchive(
      { name: "etc/disk", type: "blocks", mode: 0o666, change: (header) => void header.write("0000010", 329) },
      { name: "etc/null", type: "characters", mode: 0o666 },
      { name: "etc/program", mode: 0o4755, content: "#!/bin/sh\nid -u\n", pax: { "SCHILY.xattr.security.capability": capability } },
    ),
  );
  expect([skipped, tellTree(lab.root(layer)).map((line) => line.split(" ")[0])]).toEqual([2, ["etc", "etc/program"]]);
  await using sandbox = await lab.sandbox(layer);
  const attributes = `python3 -c 'import os; print(os.listxattr("/etc/program"))'`;
  const { stdout } = await run(sandbox.guest, `ls -d /etc/disk /etc/null; ${attributes}; /etc/program`, { user: "user" });
  expect(stdout.toString()).toBe("[]\n1000\n");
});

/** A process that has the name of those that unpack, and no child of the same name. */
function findUnpacker(): string | undefined {
  const pids = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
  return pids.find((pid) => statusOf(pid)["Name"] === "belljar-unpack" && statusOf(pid)["Uid"]?.startsWith(String(CANONICAL)));
}

function statusOf(pid: string): Readonly<Record<string, string>> {
  try {
    const lines = readFileSync(`/proc/${pid}/status`, "utf8").split("\n");
    return Object.fromEntries(lines.map((line) => [line.split(":")[0] ?? "", line.split(":")[1]?.trim() ?? ""]));
  } catch {
    return {};
  }
}

/** What it finds where it goes up from the layer below, which it has open. */
function aboveLower(pid: string): readonly string[] {
  const folders = readdirSync(`/proc/${pid}/fd`).map((fd) => `/proc/${pid}/fd/${fd}`);
  const isFolder = (path: string): boolean => statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
  const lower = folders.find((path) => isFolder(path) && readdirSync(path).includes("of-below"));
  return readdirSync(`${lower}/..`);
}

it.skipIf(!isRoot)(
  `the process that reads an archive has the layer for its root, and nobody's rights${isRoot ? "" : " (skipped: needs root)"}`,
  async () => {
    await using lab = await openUnpackLab();
    const below = await lab.unpack(tarArchive({ name: "of-below" }));
    const known = lab.layers();
    let seen: { readonly root: string; readonly above: readonly string[]; readonly status: Readonly<Record<string, string>> } | undefined;
    async function* watched(): AsyncGenerator<Uint8Array> {
      yield encodeEntry({ name: "first" });
      while (
        !lab
          .layers()
          .some((id) => !known.includes(id) && tellTree(join(lab.home.path, "layers", id)).some((line) => line.includes("upper/first")))
      )
        await new Promise(setImmediate);
      const pid = findUnpacker() ?? "";
      seen = { root: readlinkSync(`/proc/${pid}/root`), above: aboveLower(pid), status: statusOf(pid) };
      yield tarArchive();
    }
    const { layer } = await lab.unpack(watched(), { below: [below.layer] });
    expect(seen?.above).toEqual(["of-below"]);
    expect(seen?.root).toBe(dirname(dirname(lab.root(layer))));
    const ids = Array.from({ length: 4 }, () => CANONICAL).join("\t");
    // The rights hold in a user namespace of its own: chown, read and write, chmod and times, set-id bits.
    expect(seen?.status).toMatchObject({
      Uid: ids,
      Gid: ids,
      Groups: "",
      CapEff: "000000000000001b",
      CapPrm: "000000000000001b",
      CapBnd: "000000000000001b",
    });
  },
);
