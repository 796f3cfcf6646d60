import { chmod, copyFile, mkdir, readFile, stat, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { expect } from "vitest";
import type { Workspace } from "../../src/runtime/contract/sandbox-spec.ts";
import { idMapKinds, inEachIdMap } from "./support/id-maps.ts";
import type { Box } from "./support/lab.ts";
import { openBox, openTestRuntime, useLab } from "./support/lab.ts";
import { outside } from "./support/outside.ts";
import { verifies } from "./verifies.ts";

const lab = useLab(["modes", "listened"]);
const signal = (): AbortSignal => AbortSignal.timeout(30_000);

/** A folder of the host with one file, given as rw. */
async function createShared(name: string): Promise<Workspace> {
  const path = join(dirname(lab.home), `shared-${name}`);
  await mkdir(join(path, "race"), { recursive: true });
  await writeFile(join(path, "file"), "", { mode: 0o644 });
  for (const folder of [path, join(path, "race")]) await chmod(folder, 0o777);
  return { path, mode: "rw" };
}

async function setidBelow(folder: string): Promise<string> {
  return (await outside(["find", folder, "-perm", "/6000", "-printf", "%P %m\n"])).out;
}

async function modeOf({ path }: Workspace): Promise<string> {
  return ((await stat(join(path, "file"))).mode & 0o7777).toString(8);
}

/** A second thread rewrites the path, the link and the descriptor while the call waits for its answer. */
verifies("modes-lose-setid", async () => {
  const shown = await createShared("outside");
  expect((await outside([lab.attack("modes"), join(shown.path, "race")])).out).toMatch(/^[ab] 6755\n/);
  expect(await setidBelow(shown.path)).toMatch(/6755/);
  const workspace = await createShared("race");
  await inEachIdMap(
    lab,
    async (box, kind) => {
      const race = await box.install("modes");
      // Root can make no file in the workspace. It changes those of the user.
      for (const user of ["user", "root"]) {
        const raced = await box.run([race, "/workspace/race"], { user });
        expect({ kind, user, ...raced }).toEqual({ kind, user, code: 0, out: "", err: expect.stringMatching(/^\d{3,} calls\n$/) });
        expect(await setidBelow(workspace.path)).toBe("");
        expect((await stat(join(workspace.path, "race/a"))).mode & 0o777).toBe(0o755);
      }
    },
    { workspace },
  );
});

/** The same error as without the bits, and the same modes: the caller's root, folder, files and rights decide. */
verifies("modes-lose-setid", async () => {
  const workspace = await createShared("cases");
  const cases = await readFile(join(import.meta.dirname, "../fixtures/attacks/mode-cases.py"));
  await inEachIdMap(
    lab,
    async (box, kind) => {
      for (const user of ["root", "user"]) {
        const { out, err } = await box.run(["python3", "-"], { user, input: cases, ...(user === "root" && { cwd: "/root" }) });
        const rows = out
          .trim()
          .split("\n")
          .map((row) => row.split("|"));
        expect({ kind, user, err, rows: rows.length }).toMatchObject({ err: "", rows: user === "root" && kind !== "single" ? 54 : 45 });
        for (const [name, withBits, without] of rows)
          expect({ kind, user, name, error: withBits }).toEqual({ kind, user, name, error: without });
        expect(rows.filter(([, said = ""]) => said.startsWith("0 ")).length).toBeGreaterThan(10);
      }
    },
    { workspace },
  );
});

const CHANGE = ["chmod", "6751", "file"];

/** A sandbox whose programs have filters of their own, and one whose listener somebody else has, refuse as before. */
verifies("modes-lose-setid", async () => {
  const workspace = await createShared("refused");
  const folder = dirname(lab.home);
  await inEachIdMap(lab, expectRefused, { workspace, nestedFilters: true });
  const binary = join(folder, "listened-native");
  const native = join(import.meta.dirname, "../../native/build/belljar-native");
  await writeFile(binary, `#!/bin/sh\nexec ${lab.attack("listened")} ${native} "$@"\n`, { mode: 0o755 });
  const [idMap] = idMapKinds();
  const runtime = await openTestRuntime(lab.home, join(folder, "run"), { binary, idMap });
  try {
    await using box = await openBox(runtime, folder, { workspace });
    await expectRefused(box);
  } finally {
    process.kill(Number(await readFile(`${lab.attack("listened")}.holder`, "utf8")), "SIGKILL");
  }
});

async function expectRefused(box: Box): Promise<void> {
  expect(await box.run(CHANGE)).toMatchObject({ code: 1, err: expect.stringContaining("Operation not permitted") });
  expect(await box.run(["chmod", "751", "file"])).toMatchObject({ code: 0 });
  await box.guest.files.setAttributes("file", { mode: 0o6755, signal: signal() });
  expect((await box.guest.files.stat("file", { signal: signal() })).mode).toBe(0o755);
}

const NAMES = `
import os
os.symlink("/proc/self/exe", "link")
for name in ("/proc/self/exe", "/proc/thread-self/exe", "link", *("/dev/fd/%d" % n for n in range(16))):
  for mode in (0o4000, 0o6000):
    try: os.chmod(name, mode)
    except OSError: pass
os.unlink("link")
`;

/** Names that mean the process itself mean the caller: never the process that answers, its program on the host or its files. */
verifies("modes-lose-setid", async () => {
  const folder = dirname(lab.home);
  const [changer, binary] = [join(folder, "own-chmod"), join(folder, "own-native")];
  await copyFile("/usr/bin/chmod", changer);
  expect(await outside([changer, "4711", "/proc/self/exe"])).toMatchObject({ code: 0 });
  expect((await stat(changer)).mode & 0o7777).toBe(0o4711);
  await copyFile(join(import.meta.dirname, "../../native/build/belljar-native"), binary);
  await chmod(binary, 0o755);
  const workspace = await createShared("names");
  for (const idMap of idMapKinds()) {
    const runtime = await openTestRuntime(lab.home, join(folder, "run"), { binary, idMap });
    await using box = await openBox(runtime, folder, { workspace });
    for (const user of ["root", "user"]) {
      expect(await box.run(["python3", "-c", NAMES], { user, ...(user === "root" && { cwd: "/root" }) })).toMatchObject({ code: 0 });
      expect((await stat(binary)).mode & 0o7777).toBe(0o755);
      expect((await box.run(["stat", "-Lc", "%a", "/workspace"])).out).toBe("777\n");
    }
  }
});

/** Who is root inside ends whatever can be ended. The calls are still answered, and none gets the bits. */
verifies("modes-lose-setid", async () => {
  const workspace = await createShared("ended");
  await inEachIdMap(
    lab,
    async (box) => {
      for (let round = 0; round < 3; round++) {
        expect(await box.run(CHANGE)).toMatchObject({ code: 0 });
        expect(await modeOf(workspace)).toBe("751");
        expect(await capabilitiesOfGuest(box)).toBe(0n);
        expect(await box.run(["sh", "-c", "sleep 1000 & kill -9 -1"], { user: "root" })).toMatchObject({ code: 0 });
        await box.guest.files.setAttributes("file", { mode: 0o6755, signal: signal() });
        expect(await modeOf(workspace)).toBe("755");
      }
    },
    { workspace },
  );
});

const SYS_PTRACE = 1n << 19n;

/** What the thread that answers needs to read its callers, the guest and its workers do not have. */
async function capabilitiesOfGuest(box: Box): Promise<bigint> {
  const { out } = await box.run(["sed", "-n", "s/^CapPrm:\\t/0x/p", "/proc/1/status"]);
  return BigInt(out.trim()) & SYS_PTRACE;
}

const FLOOD = `
import os, threading
def flood():
  while True: os.chmod("file", 0o6755)
for _ in range(40): threading.Thread(target=flood).start()
print("floods", flush=True)
`;

/** However many threads call, the guest answers at once, the sandbox pauses, and a few processes work for them all. */
verifies("modes-lose-setid", async () => {
  const workspace = await createShared("flood");
  await using box = await lab.box({ workspace });
  await using flood = await box.guest.exec({ argv: ["python3", "-c", FLOOD], signal: signal() });
  flood.stderr.resume();
  await new Promise((resolve) => flood.stdout.once("data", resolve));
  for (let round = 0; round < 20; round++) {
    expect(await box.run(CHANGE)).toMatchObject({ code: 0 });
    expect((await box.guest.files.stat("file", { signal: signal() })).mode & 0o6000).toBe(0);
    const { out } = await box.run(["sh", "-c", "cat /proc/[0-9]*/comm 2> /dev/null | grep -c belljar-guest"], { user: "root" });
    expect(Number(out)).toBeLessThan(8);
    if (lab.isolation.pause && round % 5 === 0) {
      await box.running.pause();
      await box.running.resume();
    }
  }
  expect(await setidBelow(workspace.path)).toBe("");
});
