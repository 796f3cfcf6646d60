import { once } from "node:events";
import { readFile, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { expect } from "vitest";
import { findCgroups } from "../../src/runtime/namespace/cgroups.ts";
import type { Limits } from "../../src/runtime/contract/sandbox-spec.ts";
import type { Box } from "./support/lab.ts";
import { useLab } from "./support/lab.ts";
import { isRoot, outside } from "./support/outside.ts";
import { verifies } from "./verifies.ts";
import { runName } from "../support/run-of.ts";

const lab = useLab(["forks", "hog"]);
const MEBIBYTE = 1 << 20;
/** So many of the guest's own processes are counted with the programs' (native/common/guest.h). */
const GUEST_COUNTED_PROCESSES = 4;
const NAMED: Limits = { memoryBytes: 128 * MEBIBYTE, cpus: 0.5, pids: 32, diskBytes: 32 * MEBIBYTE, openFiles: 256 };

const holds = (limit: keyof Limits): boolean => lab.isolation.limits.includes(limit);

async function expectAlive(box: Box): Promise<void> {
  expect((await box.run(["echo", "alive"])).out).toBe("alive\n");
}

verifies("limits-hold-or-refuse", async () => {
  for (const limit of Object.keys(NAMED) as (keyof Limits)[]) {
    const opening = lab.box({ limits: NAMED, required: [limit] });
    if (holds(limit)) await (await opening)[Symbol.asyncDispose]();
    else await expect(opening).rejects.toMatchObject({ code: "LIMIT_UNENFORCEABLE", message: expect.stringContaining(limit) });
  }
  await using box = await lab.box({ limits: NAMED });
  await expectAlive(box);
  await expectOpenFiles(box);
  if (holds("cpus")) await expectCpus(box);
});

/** Of every process, and nobody inside raises it. */
async function expectOpenFiles(box: Box): Promise<void> {
  const most = NAMED.openFiles ?? 0;
  for (const user of ["root", "user"]) {
    expect(await box.run(["sh", "-c", "ulimit -Sn; ulimit -Hn"], { user })).toMatchObject({ code: 0, out: `${most}\n${most}\n` });
    expect((await box.run(["sh", "-c", `ulimit -Hn ${most + 1}`], { user })).code, user).not.toBe(0);
    const opened = await box.run(["python3", "-c", OPEN_FILES, String(most)], { user });
    expect(opened, user).toMatchObject({ code: 0, out: "EMFILE\n" });
  }
  expect((await outside(["python3", "-c", OPEN_FILES, String(most)])).out).toBe("opened\n");
}

const OPEN_FILES = `
import errno, os, sys
try:
  for _ in range(int(sys.argv[1])): os.open("/dev/null", os.O_RDONLY)
except OSError as error: print(errno.errorcode[error.errno])
else: print("opened")
`;

/** What the kernel was told of the sandbox's control group: half a processor. */
async function expectCpus({ running }: Box): Promise<void> {
  const told = await Promise.all(
    findCgroups().bases.map(async ({ kind, path }) => {
      const read = async (name: string): Promise<string> => (await readFile(join(path, runName(running.id), name), "utf8")).trim();
      if (kind === "v2") return (await read("cpu.max")).split(" ");
      return kind === "cpu" ? [await read("cpu.cfs_quota_us"), await read("cpu.cfs_period_us")] : [];
    }),
  );
  const [quota, period] = told.flat().map(Number);
  expect((quota ?? 0) / (period ?? 1)).toBe(NAMED.cpus);
}

verifies("pids-bounded", async () => {
  expect((await outside([lab.attack("forks"), "200"])).out).toBe("200\n");
  await using box = await lab.box({ limits: { ...NAMED, pids: 64 } });
  const forks = await box.install("forks");
  for (const user of ["root", "user"]) {
    const count = Number((await box.run([forks, "200"], { user })).out);
    if (holds("pids")) expect(count).toBeLessThan(100);
    await expectAlive(box);
  }
  if (lab.isolation.users !== "one") await expectBoundedForAllIds(box, forks);
});

/** Root inside takes ids, each of which alone may have as many processes as the limit says. */
async function expectBoundedForAllIds(box: Box, forks: string): Promise<void> {
  const inNamespace = isRoot ? [] : ["unshare", "--user", "--map-auto", "--map-root-user"];
  const attack = ["prlimit", "--nproc=64", lab.attack("forks"), "50", "20"];
  const { out } = await outside(["sh", "-c", '"$@" </dev/null', "sh", ...inNamespace, ...attack]);
  expect(Number(out)).toBe(20 * 51);
  const signal = AbortSignal.timeout(30_000);
  await using bomb = await box.guest.exec({ argv: [forks, "50", "20"], user: "root", signal });
  const [held] = (await once(bomb.stdout, "data")) as [Buffer];
  expect(Number(held)).toBeGreaterThan(32);
  expect(Number(held)).toBeLessThanOrEqual(64 + GUEST_COUNTED_PROCESSES);
  for (const user of ["root", "user"]) expect((await box.run(["echo", "alive"], { user })).out, user).toBe("alive\n");
  expect((await box.guest.processes(signal)).length).toBeGreaterThan(Number(held));
  bomb.stdin.end();
  expect(await bomb.exited).toMatchObject({ exitCode: 0 });
  await expectAlive(box);
}

verifies("memory-bounded", async ({ skip }) => {
  skip(!holds("memoryBytes"), "this host gives the user no limit on memory");
  expect((await outside([lab.attack("hog"), "192"])).out).toBe("held\n");
  expect((await outside([lab.attack("hog"), "48", "4"])).out).toBe("held\n");
  await using box = await lab.box({ limits: NAMED, required: ["memoryBytes"] });
  const hog = await box.install("hog");
  for (const user of ["root", "user"]) {
    for (const size of [["192"], ["48", "4"]]) {
      expect((await box.run([hog, ...size], { user })).out).toBe("");
      await expectAlive(box);
    }
  }
  expect((await box.run([hog, "32"])).out).toBe("held\n");
  expect((await box.running.usage()).oomKills).toBeGreaterThan(0);
});

verifies("disk-bounded", async () => {
  const fill = (path: string): readonly string[] => ["dd", "if=/dev/zero", `of=${path}`, "bs=1M", "count=96"];
  const onHost = join(dirname(lab.home), "filled");
  expect((await outside(fill(onHost))).code).toBe(0);
  await rm(onHost);
  await using box = await lab.box({ limits: { ...NAMED, memoryBytes: 256 * MEBIBYTE } });
  for (const user of ["root", "user"]) {
    for (const path of holds("diskBytes") ? ["/home/user/filled", "/tmp/filled"] : []) {
      expect((await box.run(fill(path), { user })).code, path).not.toBe(0);
      await expectAlive(box);
      await box.run(["rm", "-f", path], { user: "root" });
    }
    expect((await box.run(fill("/dev/filled"), { user })).code).not.toBe(0);
  }
  // A file system without a limit says that its size is 0.
  const sizes = (await box.run(["df", "-k", "--output=size", "/dev/shm"])).out.trim().split("\n").slice(1).map(Number);
  expect(sizes).toEqual([128 * 1024]);
});

verifies("output-bounded", async () => {
  const flood = ["head", "-c", "64000000", "/dev/zero"];
  expect((await outside(flood)).out).toHaveLength(64_000_000);
  await using box = await lab.box();
  const before = process.memoryUsage().arrayBuffers;
  const result = await box.guest.run({ argv: flood, maxOutputBytes: MEBIBYTE, signal: AbortSignal.timeout(30_000) });
  expect(result).toMatchObject({ exitCode: 0, truncated: true });
  expect(result.stdout).toHaveLength(MEBIBYTE);
  expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(48 * MEBIBYTE);
});
