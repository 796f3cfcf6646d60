import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, readdir, realpath, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { BelljarError } from "../../src/errors.ts";
import { HostFolder } from "../../src/sandbox/workspace/host-folder.ts";

const RENAME_EXCHANGE = 2;
const SWAP = `
import ctypes, sys
libc = ctypes.CDLL(None)
libc.prctl(1, 9)  # PR_SET_PDEATHSIG: it ends with the test
print("ready", flush=True)
while True: libc.renameat2(-100, sys.argv[1].encode(), -100, sys.argv[2].encode(), ${RENAME_EXCHANGE})
`;

it("writes nothing outside while a folder is swapped for a link again and again", async () => {
  const place = await mkdtemp(join(tmpdir(), "belljar-host-folder-"));
  const [root, outside] = [join(place, "root"), join(place, "outside")];
  await mkdir(join(root, "folder"), { recursive: true });
  await mkdir(outside);
  await symlink(outside, join(root, "link"));
  const swapper = spawn("python3", ["-c", SWAP, join(root, "folder"), join(root, "link")]);
  const swapped = once(swapper, "exit");
  try {
    await once(swapper.stdout, "data");
    let written = 0;
    for (let count = 0; count < 1_000; count++) written += await tryToWrite(new HostFolder(root), `folder/${count}`);
    expect(await readdir(outside)).toEqual([]);
    expect(written).toBeGreaterThan(0);
  } finally {
    swapper.kill("SIGKILL");
    await swapped;
    await rm(place, { recursive: true });
  }
});

it("reads nothing outside while a folder is swapped for a link again and again", async () => {
  const place = await mkdtemp(join(tmpdir(), "belljar-host-folder-"));
  const [root, outside] = [join(place, "root"), join(place, "outside")];
  await Promise.all([mkdir(join(root, "folder"), { recursive: true }), mkdir(outside)]);
  await Promise.all([
    writeFile(join(outside, "secret"), ""),
    writeFile(join(root, "folder/own"), ""),
    symlink(outside, join(root, "link")),
  ]);
  const swapper = spawn("python3", ["-c", SWAP, join(root, "folder"), join(root, "link")]);
  const swapped = once(swapper, "exit");
  try {
    await once(swapper.stdout, "data");
    const seen = new Set<string>();
    for (let count = 0; count < 500; count++) for (const name of await tryToWalk(new HostFolder(root))) seen.add(name);
    expect([...seen].filter((name) => name.endsWith("secret"))).toEqual([]);
    expect([...seen].some((name) => name.endsWith("own"))).toBe(true);
  } finally {
    swapper.kill("SIGKILL");
    await swapped;
    await rm(place, { recursive: true });
  }
});

it("uses no folder whose own place was taken by a link, at its end or above it", async () => {
  const place = await realpath(await mkdtemp(join(tmpdir(), "belljar-host-folder-")));
  await mkdir(join(place, "real/below"), { recursive: true });
  await symlink(join(place, "real"), join(place, "link"));
  await symlink(join(place, "real/below"), join(place, "end"));
  const led = expect.objectContaining({ code: "PATH_INVALID" }) as Error;
  for (const root of [join(place, "link/below"), join(place, "end")]) {
    await expect(new HostFolder(root).walk({ maxEntries: 10 })).rejects.toThrow(led);
    await expect(new HostFolder(root).stat(Buffer.from("a"))).rejects.toThrow(led);
    await expect(new HostFolder(root).makeDirectory(Buffer.from("a"))).rejects.toThrow(led);
    await expect(new HostFolder(root).remove(Buffer.from("a"))).rejects.toThrow(led);
  }
  await rm(place, { recursive: true });
});

async function tryToWalk(folder: HostFolder): Promise<Iterable<string>> {
  try {
    return (await folder.walk({ maxEntries: 100 })).keys();
  } catch (cause) {
    if (cause instanceof BelljarError && cause.code === "PATH_INVALID") return [];
    throw cause;
  }
}

async function tryToWrite(folder: HostFolder, path: string): Promise<number> {
  try {
    await (await folder.createFile(Buffer.from(path))).close();
    return 1;
  } catch (cause) {
    if (cause instanceof BelljarError && cause.code === "PATH_INVALID") return 0;
    throw cause;
  }
}
