import { chmod, cp, mkdir, readFile, rm, stat, symlink, utimes, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { expect, it } from "vitest";
import { inEachIdMap } from "../security/support/id-maps.ts";
import type { Box, RunInside } from "../security/support/lab.ts";
import { useLab } from "../security/support/lab.ts";
import { outside } from "../security/support/outside.ts";

const lab = useLab();
const signal = (): AbortSignal => AbortSignal.timeout(30_000);
const FIXTURES = join(import.meta.dirname, "../fixtures/renames");
const MEBIBYTE = 1 << 20;
const LIMITS = { memoryBytes: 512 * MEBIBYTE, pids: 256, diskBytes: 256 * MEBIBYTE, openFiles: 1024 };

/** A folder of the host, filled, which a sandbox gets as a copy. */
async function inCopies(
  name: string,
  fill: (path: string) => Promise<void>,
  use: (box: Box, path: string) => Promise<void>,
): Promise<void> {
  const path = join(dirname(lab.home), name);
  await mkdir(path);
  await fill(path);
  await chmod(path, 0o755);
  await inEachIdMap(lab, (box) => use(box, path), { workspace: { path, mode: "copy" }, limits: LIMITS });
  await hostSucceed(path, "chmod -R u+w .");
}

async function succeed(box: Box, script: string, options: RunInside = {}): Promise<string> {
  const { code, out, err } = await box.run(["sh", "-euc", script], options);
  expect({ script, code, err: code === 0 ? "" : err }).toEqual({ script, code: 0, err: "" });
  return out;
}

async function hostSucceed(cwd: string, script: string): Promise<void> {
  expect(await outside(["sh", "-euc", script], { cwd, env: { HOME: cwd } })).toMatchObject({ code: 0 });
}

/** Everything but the inodes of folders, which are new ones. Sparse files keep their holes, so that blocks are told too. */
const TREE = (folder: string): string =>
  `cd ${folder} && find . -printf '%P %y %m %U %T@ %l' \\( ! -type d -printf ' %s %b' -o -true \\) -printf '\\n' | LC_ALL=C sort; ` +
  `find . -type f -readable | LC_ALL=C sort | xargs -r sha256sum`;

async function fillProject(path: string): Promise<void> {
  await mkdir(join(path, "src/deep/deeper"), { recursive: true });
  for (const name of ["a", "b", "deep/c", "deep/deeper/d"]) await writeFile(join(path, "src", name), `${name}\n`.repeat(100));
  await symlink("deep/c", join(path, "src/link"));
  await symlink("/nowhere", join(path, "src/dangling"));
  await hostSucceed(path, "truncate -s 20M src/sparse; printf end >> src/sparse; mkfifo src/deep/fifo; mkdir src/empty src/closed");
  await hostSucceed(
    path,
    "touch src/closed/file; chmod 555 src/closed; chmod 640 src/a; chmod 2750 src/deep; touch -d 2020-02-02 src/a src/deep/deeper",
  );
  await utimes(join(path, "src/deep"), 1_500_000_000, 1_500_000_001);
  await utimes(join(path, "src"), 1_400_000_000, 1_400_000_001);
}

const CHANGE = `
echo more >> src/deep/c; rm src/b; echo new > src/new; mkdir src/made src/deep/made; echo x > src/made/x; chmod 700 src/made
rmdir src/empty; mkdir src/empty; touch -d 2021-01-01 src/new src/deep/made src/made src/empty src/deep src`;

it("a folder of the project is renamed with all that is in it as it was, changed inside before or not", async () => {
  for (const changed of [false, true]) {
    await inCopies(`kept-${changed}`, fillProject, async (box, path) => {
      const untouched = (await outside(["sh", "-c", TREE(join(path, "src"))])).out;
      if (changed) await succeed(box, CHANGE);
      const before = await succeed(box, TREE("src"));
      // mv would copy, and never say that the kernel refused.
      await succeed(box, 'perl -e \'rename("src", "lib") or die $!\'');
      expect(await succeed(box, TREE("lib"))).toBe(before);
      expect(await succeed(box, "ls -A")).toBe("lib\n");
      await succeed(box, 'mkdir sub; perl -e \'rename("lib/deep", "sub/deep") or die $!\'; test ! -e lib/deep; test -p sub/deep/fifo');
      expect((await outside(["sh", "-c", TREE(join(path, "src"))])).out).toBe(untouched);
    });
  }
});

it("each call of the rename family is served, from every place, and fails as it fails elsewhere", async () => {
  const folders = "one two three four five six seven eight nine ten eleven threaded left right below/in below/deep";
  const fill = (path: string): Promise<void> =>
    hostSucceed(path, `for f in ${folders}; do mkdir -p $f; echo $f > $f/a; done; ln -s . link; echo text > file`);
  const cases = await readFile(join(FIXTURES, "cases.py"));
  await inCopies("cases", fill, async (box) => {
    const { out, err } = await box.run(["python3", "-"], { input: cases });
    const rows = out
      .trim()
      .split("\n")
      .map((row) => row.split("|"));
    const failed = {
      "full target": "ENOTEMPTY",
      taken: "EEXIST",
      "into itself": "EINVAL",
      "no such target": "ENOENT",
      "to a file": "ENOTDIR",
    };
    const refused = { "to another mount": "EXDEV", "no memory": "EFAULT", "no folder": "EBADF", whiteout: "EPERM" };
    const errors: Record<string, string | undefined> = { ...failed, ...refused };
    expect({ err, rows }).toEqual({ err: "", rows: rows.map(([name = ""]) => [name, errors[name] ?? "done"]) });
    expect(rows).toHaveLength(24);
    expect(await succeed(box, "cat moved/one/a moved/again/a 2> /dev/null || true; find . -name '.belljar*'")).toBe("one\n");
  });
});

it("git renames a folder of 500 files", async () => {
  const fill = (path: string): Promise<void> =>
    hostSucceed(
      path,
      "mkdir src; for i in $(seq 500); do echo $i > src/$i; done; git init -q; git add -A; git -c user.name=n -c user.email=e commit -qm one",
    );
  await inCopies("git", fill, async (box) => {
    await succeed(box, "git mv src lib");
    expect(await succeed(box, "git status --porcelain | sed 's/ .*//' | sort | uniq -c | tr -s ' '")).toBe(" 500 R\n");
    await succeed(box, 'git mv lib src; test -z "$(git status --porcelain)"');
  });
});

it("npm takes a package of the project away by a rename, and puts another version there", async () => {
  const fill = async (path: string): Promise<void> => {
    await cp(join(FIXTURES, "npm"), path, { recursive: true });
    await hostSucceed(
      path,
      "(cd one && npm pack -s --pack-destination ..) && (cd two && npm pack -s --pack-destination ..) && npm install -s --offline --no-audit ./dep-1.0.0.tgz",
    );
  };
  await inCopies("npm", fill, async (box) => {
    await succeed(box, "npm install -s --offline --no-audit ./dep-2.0.0.tgz");
    expect(await succeed(box, "node -p 'require(\"dep\")'; ls -A node_modules")).toBe("2\n.package-lock.json\ndep\n");
  });
});

const MANAGERS = {
  pnpm: "pnpm --version",
  cargo: "cargo init -q --vcs none --name renamed app && cd app && cargo build -q --offline && cargo build -q --offline --release",
  go: "mkdir -p app && cd app && go mod init app && echo 'package main; func main() {}' > main.go && go build ./...",
};

for (const [tool, script] of Object.entries(MANAGERS)) {
  it(`${tool} builds in the copy`, async ({ skip }) => {
    skip((await outside(["sh", "-c", `command -v ${tool} | grep '^/usr'`])).code !== 0, `${tool} is not in this machine's /usr`);
    await inCopies(tool, fillProject, async (box) => {
      await succeed(box, script);
    });
  });
}

/** Go calls renameat from threads of its own, Node and Rust rename; pnpm and cargo put a whole folder in another's place, after moving that away. */
const PROGRAMS = {
  node: `const fs = require("fs"); Promise.all([..."abcdefgh"].map(async (name) => {
    await fs.promises.rename(name, name + ".old"); await fs.promises.mkdir(name + ".tmp"); await fs.promises.rename(name + ".tmp", name);
    await fs.promises.rm(name + ".old", { recursive: true }); })).then(() => console.log("done"))`,
  python3: `
import concurrent.futures, os, shutil
def replace(name):
  os.rename(name, name + ".old", src_dir_fd=os.open(".", os.O_RDONLY), dst_dir_fd=os.open(".", os.O_RDONLY))
  os.mkdir(name + ".tmp"); os.rename(name + ".tmp", name); shutil.rmtree(name + ".old")
with concurrent.futures.ThreadPoolExecutor(8) as pool: list(pool.map(replace, "abcdefgh"))
print("done")`,
};

for (const [program, text] of Object.entries(PROGRAMS)) {
  it(`folders are renamed at the same time from the threads of ${program}, as package managers do`, async () => {
    const fill = (path: string): Promise<void> =>
      hostSucceed(path, "for f in a b c d e f g h; do mkdir -p $f/in; touch $f/1 $f/in/2; done");
    await inCopies(`at-once-${program}`, fill, async (box) => {
      expect(await succeed(box, `${program} ${program === "node" ? "-e" : "-c"} "$SCRIPT"`, { env: { SCRIPT: text } })).toBe("done\n");
      expect(await succeed(box, "ls -A; find . -type f")).toBe("a\nb\nc\nd\ne\nf\ng\nh\n");
    });
  });
}

/** Folders are told apart by the second of their birth. */
async function makeInNextSecond(path: string): Promise<void> {
  const now = Math.floor(Date.now() / 1_000);
  for (let born = 0; born <= now; born = Math.floor((await stat(path)).birthtimeMs / 1_000)) {
    await rm(path, { recursive: true, force: true });
    await mkdir(path);
  }
}

it("a folder that was added on the host since is renamed, and so are those in it", async () => {
  await inCopies("added", fillProject, async (box, path) => {
    await makeInNextSecond(join(path, "added"));
    await hostSucceed(path, "mkdir -p added/in/deep src/added; echo x > added/in/deep/file; echo y > src/added/file");
    const rename = (from: string, to: string): Promise<string> => succeed(box, `perl -e 'rename("${from}", "${to}") or die $!'`);
    await rename("added/in", "added/out");
    await rename("src/added", "added/moved");
    await rename("added", "whole");
    expect(await succeed(box, "cat whole/out/deep/file whole/moved/file; find . -name '.belljar*'")).toBe("x\ny\n");
    await hostSucceed(path, "rm -r added src/added");
  });
});

it("a file call renames a folder of the project", async () => {
  await inCopies("file-call", fillProject, async (box) => {
    await box.guest.files.rename("src", "lib", { signal: signal() });
    expect(await succeed(box, "ls -A; cat lib/deep/deeper/d | head -1")).toBe("lib\ndeep/deeper/d\n");
    await box.guest.files.rename("lib", "/tmp/lib", { signal: signal() }).then(
      () => expect.unreachable(),
      (error: unknown) => expect(error).toMatchObject({ code: "NOT_SUPPORTED" }),
    );
    expect(await succeed(box, "find . -name '.belljar*'")).toBe("");
  });
});

it("a folder is renamed by programs in the background, in sessions of their own", async () => {
  await inCopies("background", fillProject, async (box) => {
    await succeed(box, '(setsid perl -e \'rename("src", "lib") or die $!\') & wait; test -d lib/deep');
    await succeed(box, "setsid -w sh -c 'exec env -i perl -e \"rename(q(lib), q(last)) or die\"'; test -d last/deep");
  });
});

it("a sandbox has such a thread where its folders may lie in a lower layer", async () => {
  const threads = (box: Box): Promise<string> => succeed(box, "grep ^Threads /proc/1/status");
  await using bare = await lab.box();
  // Outside the pool a checkpoint puts what was written below (decision 61).
  expect(await threads(bare)).toBe("Threads:\t2\n");
  await inCopies("threads", fillProject, async (box) => expect(await threads(box)).toBe("Threads:\t2\n"));
});
