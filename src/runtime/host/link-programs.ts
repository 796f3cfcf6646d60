import { mkdir, readFile, readlink, rename, symlink } from "node:fs/promises";
import { join } from "node:path";
import { BelljarError } from "../../errors.ts";
import { INSIDE } from "../../protocol/inside.ts";
import type { RuntimeOptions } from "../contract/runtime.ts";

/** Of another release one of them differs. */
const SAMPLES = ["javascript-kernel.mjs", "python-kernel.py", "browser-driver.mjs"];

/**
 * Makes Belljar's programs be where every sandbox has them (`/opt/belljar`), by links. A machine that is a sandbox of the same release has them
 * already. Rejects with `RUNTIME_UNAVAILABLE` where this user may not, and where others lie there.
 */
export async function linkPrograms({ kernels, programs = {} }: Pick<RuntimeOptions, "kernels" | "programs">): Promise<void> {
  if (kernels === undefined || (await hasSame(kernels))) return;
  try {
    await mkdir(INSIDE.executables, { recursive: true });
    await link(kernels, INSIDE.kernels);
    for (const [name, path] of Object.entries(programs)) await link(path, join(INSIDE.executables, name));
  } catch (cause) {
    const advice = `as root, once: mkdir -p ${INSIDE.executables} && ln -sfn ${kernels} ${INSIDE.kernels}`;
    throw new BelljarError(
      "RUNTIME_UNAVAILABLE",
      `Belljar's own programs cannot be put at ${INSIDE.programs} of this machine. Do it ${advice}`,
      {
        cause,
      },
    );
  }
}

async function hasSame(kernels: string): Promise<boolean> {
  const compared = SAMPLES.map(async (name) => {
    const [there, ours] = await Promise.all([read(join(INSIDE.kernels, name)), read(join(kernels, name))]);
    return there !== undefined && ours !== undefined && there.equals(ours);
  });
  return (await Promise.all(compared)).every(Boolean);
}

function read(path: string): Promise<Buffer | undefined> {
  return readFile(path).catch(() => undefined);
}

/** In the place of an earlier link, never of a folder or file that somebody put there. */
async function link(to: string, at: string): Promise<void> {
  const before = await readlink(at).catch(() => undefined);
  if (before === to) return;
  if (before === undefined) return symlink(to, at);
  const fresh = `${at}.${process.pid}`;
  await symlink(to, fresh);
  await rename(fresh, at);
}
