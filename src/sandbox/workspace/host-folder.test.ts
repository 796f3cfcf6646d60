import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, readdir, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { BelljarError } from "../../errors.ts";
import { HostFolder } from "./host-folder.ts";

const RENAME_EXCHANGE = 2;
const SWAP = `
import ctypes, sys
libc = ctypes.CDLL(None)
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

async function tryToWrite(folder: HostFolder, path: string): Promise<number> {
  try {
    await (await folder.createFile(Buffer.from(path))).close();
    return 1;
  } catch (cause) {
    if (cause instanceof BelljarError && cause.code === "PATH_INVALID") return 0;
    throw cause;
  }
}
