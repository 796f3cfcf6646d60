import { chmod, mkdir, readFile, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { expect } from "vitest";
import type { IdMap } from "../../src/runtime/namespace/id-map.ts";
import { inEachIdMap } from "./support/id-maps.ts";
import type { Box, BoxOptions, RunInside } from "./support/lab.ts";
import { useLab } from "./support/lab.ts";
import { isRoot, outside } from "./support/outside.ts";
import { verifies } from "./verifies.ts";

const lab = useLab(["renames"]);
const FIXTURES = join(import.meta.dirname, "../fixtures/renames");
const MEBIBYTE = 1 << 20;
const LIMITS = { memoryBytes: 512 * MEBIBYTE, pids: 128, diskBytes: 128 * MEBIBYTE, openFiles: 1024 };

type Use = (box: Box, kind: IdMap["kind"]) => Promise<void>;

/** A sandbox with a copy of a folder that the script has filled. */
async function inCopies(name: string, script: string, use: Use, options: BoxOptions = {}): Promise<void> {
  const path = join(dirname(lab.home), name);
  await mkdir(path);
  await chmod(path, 0o755);
  expect(await outside(["sh", "-euc", script], { cwd: path })).toMatchObject({ code: 0 });
  const before = (await outside(["sh", "-c", TREE], { cwd: path })).out;
  await inEachIdMap(lab, use, { workspace: { path, mode: "copy" }, limits: LIMITS, ...options });
  expect((await outside(["sh", "-c", TREE], { cwd: path })).out).toBe(before);
}

const TREE = "find . -printf '%P %y %m %U %s %T@ %l\\n' | LC_ALL=C sort; find . -type f -readable | LC_ALL=C sort | xargs -r sha256sum";
const RENAME = (from: string, to: string): string[] => ["perl", "-e", `rename("${from}", "${to}") or die "$!\n"`];
const REFUSED = { code: 18, err: "Invalid cross-device link\n" };

async function succeed(box: Box, script: string, options: RunInside = {}): Promise<string> {
  const { code, out, err } = await box.run(["sh", "-euc", script], options);
  expect({ script, code, err: code === 0 ? "" : err }).toEqual({ script, code: 0, err: "" });
  return out;
}

const TREES = `for n in 0 1 2 3 4 5 6 7; do mkdir -p tree-$n/sub/deep
for i in 1 2 3 4 5 6 7 8 9 10; do echo $n-$i > tree-$n/sub/f$i; echo $i > tree-$n/sub/deep/g$i; done; done`;

const RACED = /^(\d+) folders, 120 files, 0 strange\n$/;

/** What root does by paths is steered by whoever exchanges a folder for a link: in the steps of a copy, a removal and a rename. */
verifies("renames-keep-rights", async () => {
  const folder = join(dirname(lab.home), "by-path");
  await mkdir(join(folder, "canary"), { recursive: true });
  await mkdir(join(folder, "work/src"), { recursive: true });
  await writeFile(join(folder, "canary/file"), "kept");
  expect((await outside(["cp", "-a", "src", "filled"], { cwd: join(folder, "work") })).code).toBe(0);
  expect((await outside(["mv", "src", "away"], { cwd: join(folder, "work") })).code).toBe(0);
  await symlink("../canary", join(folder, "work/src"));
  expect((await outside(["sh", "-c", "rm -rf src/*"], { cwd: join(folder, "work") })).code).toBe(0);
  await expect(readFile(join(folder, "canary/file"))).rejects.toMatchObject({ code: "ENOENT" });

  await inCopies("races", `${TREES}; mkdir canary; echo kept > canary/file`, async (box, kind) => {
    const attack = await box.install("renames");
    const canary = "chmod 700 canary; mkdir -p private; echo secret > private/key; chmod 700 private; chown -R root:root canary private";
    await succeed(box, kind === "single" ? "true" : canary, { user: "root", cwd: "/workspace" });
    const before = await succeed(box, "test ! -d private || find private canary; ls -la /root; cat canary/file", {
      user: "root",
      cwd: "/workspace",
    });
    const outcomes = await Promise.all(["user", "root"].map((user) => box.run([attack, "/workspace", "30"], { user })));
    for (const outcome of outcomes) expect(outcome).toMatchObject({ code: 0, err: "", out: expect.stringMatching(RACED) });
    // One of the two may find each folder at the place to which the other has just renamed it.
    const renamed = outcomes.map(({ out }) => Number(RACED.exec(out)?.[1]));
    expect(renamed.reduce((sum, count) => sum + count, 0)).toBeGreaterThan(9);
    expect(
      await succeed(box, "test ! -d private || find private canary; ls -la /root; cat canary/file", { user: "root", cwd: "/workspace" }),
    ).toBe(before);
    // Every file is somewhere, once.
    const files = await succeed(box, "find . -type f \\( -name 'f[0-9]*' -o -name 'g[0-9]*' \\) | wc -l", {
      user: "root",
      cwd: "/workspace",
    });
    expect(Number(files)).toBe(160);
    if (kind !== "single") expect(await box.run(["cat", "private/key"])).toMatchObject({ code: 1, out: "" });
  });
});

/** Somebody exchanges the new folder before it is open. His own would get the entries, and one of root's the owner and mode of his. */
verifies("renames-keep-rights", async () => {
  const folder = join(dirname(lab.home), "exchanged");
  const program = `${folder}-program`;
  await mkdir(folder);
  const sources = ["-iquote", join(import.meta.dirname, "../../native/common"), join(FIXTURES, "exchanged.c")];
  expect(await outside(["cc", "-std=c11", "-D_GNU_SOURCE", "-o", program, ...sources])).toMatchObject({ code: 0, err: "" });
  const { code, out, err } = await outside([program, folder]);
  // The last one cannot be told from a new folder, and need not be: it shows that each was exchanged.
  const refused = ["filled", "opened", ...(isRoot ? ["theirs"] : [])].map((kind) => `${kind} refused\n`).join("");
  expect({ code, out, err }).toEqual({ code: 0, out: `${refused}alike taken\n`, err: "" });
});

/** A caller that may not rename a folder, or not take what is in it, changes nothing. */
verifies("renames-keep-rights", async () => {
  await inCopies(
    "rights",
    "mkdir -p closed/src own/src/theirs part/src; touch closed/src/a own/src/theirs/b part/src/c",
    async (box, kind) => {
      if (kind === "single") return; // one id: every file is the caller's own
      const root = { user: "root", cwd: "/workspace" };
      await succeed(box, "chown root:root closed part/src own/src/theirs; chmod 755 closed own/src/theirs; chmod 1777 part", root);
      const all = "find . -printf '%P %y %m %U %s %l %i\\n' | LC_ALL=C sort";
      const before = await succeed(box, all, root);
      // With every right, the same renames change the folders: their inodes are new ones.
      for (const folder of ["closed", "own", "part"]) expect((await box.run(RENAME(`${folder}/src`, `${folder}/lib`))).code).not.toBe(0);
      expect(await succeed(box, all, root)).toBe(before);
      for (const folder of ["closed", "own", "part"])
        expect(await box.run(RENAME(`${folder}/src`, `${folder}/lib`), root)).toMatchObject({ code: 0 });
      expect(await succeed(box, "find . -user root ! -type d -o -path '*/lib*' -user root | LC_ALL=C sort", root)).toBe(
        "./own/lib/theirs\n./part/lib\n",
      );
    },
  );
});

const GREAT = "mkdir tree-1; for i in 1 2 3 4 5; do head -c 8M /dev/urandom > tree-1/f$i; done";

/** Without room for all of it, nothing is copied. A copy by hand fills the disk. */
verifies("renames-bounded", async () => {
  await inCopies("room", GREAT, async (box) => {
    await succeed(box, "head -c 100M /dev/zero > /tmp/filled");
    const free = "df --output=avail -k . | tail -1";
    const before = [await succeed(box, free), await succeed(box, TREE)];
    for (let round = 0; round < 3; round++) expect(await box.run(RENAME("tree-1", "moved"))).toMatchObject(REFUSED);
    expect(Number(await succeed(box, free))).toBeGreaterThan(Number(before[0]) - 1024);
    expect(await succeed(box, "find . ! -path . -printf '%P %y %s\\n' | LC_ALL=C sort")).not.toContain("belljar");
    expect((await succeed(box, TREE)).replaceAll(/^ d .*\n/gm, "")).toBe(before[1]?.replaceAll(/^ d .*\n/gm, ""));
    expect(await box.run(["cp", "-a", "tree-1", "copied"])).toMatchObject({ code: 1, err: expect.stringContaining("No space left") });
    await succeed(box, "rm -r copied /tmp/filled");
    expect(await box.run(RENAME("tree-1", "moved"))).toMatchObject({ code: 0 });
  });
});

/** Six folders of 200 files each, and a few more. */
const MANY = `python3 -c '
import os
for n in range(1, 7):
  os.makedirs("tree-%d/sub" % n)
  for i in range(100):
    open("tree-%d/f%d" % (n, i), "wb").write(os.urandom(40000))
    open("tree-%d/sub/g%d" % (n, i), "wb").write(os.urandom(4000))
  for i in (1, 2, 3):
    os.makedirs("tree-%d/low%d" % (n, i))
    open("tree-%d/low%d/h" % (n, i), "w").write("low")'`;

const CAUGHT = {
  // The disk becomes full in the middle: all goes back.
  full: "outcome EXDEV\nwhole True\nmore False\nleft 0 lost 0\nagain done\n",
  // It is killed in the middle: another process puts all back.
  killed: "outcome EXDEV\nwhole True\nmore False\nleft 0 lost 0\nagain done\n",
  // The same, and what has the new folder's name by then is another one, which keeps what is in it.
  exchanged: "outcome EXDEV\nwhole True\nmore False\nleft 1 lost 0\nagain done\n",
  // A name that was moved is made again: the new file stays at its place, and the old one in the new folder.
  taken: "outcome EXDEV\nwhole False\nmore False\nleft 1 lost 0\nagain done\n",
  // The same for a folder: what was in the old one is not put into the one of somebody else.
  lured: "outcome EXDEV\nwhole False\nmore False\nleft 1 lost 0\nagain done\n",
  // A file that was made meanwhile comes along.
  added: "outcome done\nwhole False\nmore True\nleft 0 lost 0\nagain done\n",
};

for (const [how, said] of Object.entries(CAUGHT)) {
  verifies(
    "renames-bounded",
    async () => {
      const script = await readFile(join(FIXTURES, "caught.py"));
      await inCopies(`caught-${how}`, MANY, async (box, kind) => {
        const { out, err } = await box.run(["python3", "-", how], { input: script, user: "root", cwd: "/workspace" });
        expect({ how, kind, out, err }).toEqual({ how, kind, out: said, err: "" });
      });
    },
    60_000,
  );
}

const SWARM = `
import errno, os, threading
said = set()
def files(n):
  open("file-%d" % n, "w").close()
  for i in range(50):
    os.rename("file-%d" % n, "other-%d" % n); os.rename("other-%d" % n, "file-%d" % n)
  said.add("files")
def folders(n):
  for i in range(4):
    try: os.rename("tree-%d" % (n % 6 + 1), "moved-%d" % n); os.rename("moved-%d" % n, "tree-%d" % (n % 6 + 1)); said.add("folders")
    except OSError as error: assert error.errno in (errno.EXDEV, errno.ENOENT, errno.ENOTEMPTY), error
threads = [threading.Thread(target=act, args=(n,)) for n in range(45) for act in (files, folders)]
for thread in threads: thread.start()
print("swarms", flush=True)
for thread in threads: thread.join()
print(sorted(said))`;

/** More threads than may wait: each file is renamed, one process works, and the guest answers. */
verifies(
  "renames-bounded",
  async () => {
    await inCopies("swarm", MANY, async (box) => {
      await using swarm = await box.guest.exec({ argv: ["python3", "-c", SWARM], signal: AbortSignal.timeout(60_000) });
      const out: Buffer[] = [];
      swarm.stdout.on("data", (chunk: Buffer) => out.push(chunk));
      swarm.stderr.resume();
      await new Promise((resolve) => swarm.stdout.once("data", resolve));
      for (let round = 0; round < 10; round++) {
        const { out: names } = await box.run(["sh", "-c", "cat /proc/[0-9]*/comm 2> /dev/null | grep -c belljar-guest"], { user: "root" });
        expect(Number(names)).toBeLessThan(6);
        if (lab.isolation.pause && round === 5) {
          await box.running.pause();
          await box.running.resume();
        }
      }
      expect((await swarm.exited).exitCode).toBe(0);
      expect(Buffer.concat(out).toString()).toBe("swarms\n['files', 'folders']\n");
      expect(Number(await succeed(box, "find . -name 'f[0-9]*' -o -name 'g[0-9]*' | wc -l"))).toBe(1200);
    });
  },
  90_000,
);

/** Root kills all that it can, again and again. Renames are answered, and no file is lost. */
verifies(
  "renames-bounded",
  async () => {
    await inCopies("killed", MANY, async (box) => {
      for (let round = 1; round <= 6; round++) {
        await using rename = await box.guest.exec({ argv: RENAME(`tree-${round}`, `moved-${round}`), signal: AbortSignal.timeout(30_000) });
        rename.stdout.resume();
        rename.stderr.resume();
        await box.run(["sh", "-c", "for i in 1 2 3 4 5 6; do (sleep 1000 &) ; kill -9 -1; done; true"], { user: "root" });
        await rename.exited;
      }
      await succeed(box, "touch a; mv a b; mv b a");
      expect(Number(await succeed(box, "find . -name 'f[0-9]*' -o -name 'g[0-9]*' | wc -l"))).toBe(1200);
    });
  },
  60_000,
);
