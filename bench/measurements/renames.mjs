import { execFileSync } from "node:child_process";
import { chmodSync, cpSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { NEVER, compare, scaled } from "../harness.mjs";

const FILES = scaled(500);
const BLOCKS = 4;
const EACH = 1;
export const limitMs = 180_000;
const RENAMES = 1_000;
/** Prints the median of so many, in milliseconds. */
const LOOP = `
import os, sys, time
def rename():
  started = time.perf_counter(); os.rename("a", "b"); taken = time.perf_counter() - started
  os.rename("b", "a")
  return taken * 1000
open("a", "w").close()
print(sorted(rename() for i in range(int(sys.argv[1])))[int(sys.argv[1]) // 2])`;

/** In a copied workspace: a rename that needs nothing, beside a sandbox that asks nobody, and one of a whole folder, beside the host. */
export async function measure(home) {
  const path = join(home.folder, "project");
  makeProject(path);
  const outside = join(home.folder, "outside");
  cpSync(path, outside, { recursive: true });
  const [asking, plain] = await Promise.all(
    [false, true].map((nestedFilters) => home.create({ workspace: { path, mode: "copy" }, nestedFilters })),
  );
  const loop = async ({ guest }) => Number(await run(guest, ["python3", "-c", LOOP, String(scaled(RENAMES))]));
  const file = await compare({ reference: () => loop(plain), measured: () => loop(asking), blocks: BLOCKS, each: EACH, settleMs: 0 });
  let next = 0;
  const folders = await compare({
    reference: () => void execFileSync("git", ["mv", `src-${next}`, `lib-${next}`], { cwd: outside, stdio: "pipe" }),
    measured: async () => void (await run(asking.guest, ["git", "mv", `src-${next}`, `lib-${next++}`])),
    blocks: BLOCKS * EACH,
    each: 1,
    settleMs: 0,
  });
  return [
    { what: "rename a file of a copied workspace", beside: "in a sandbox that asks nobody", ...file, added: 0.07 },
    { what: `git mv of a folder of ${FILES} files`, beside: "on the host", ...folders },
  ];
}

function makeProject(path) {
  mkdirSync(path);
  chmodSync(path, 0o755);
  for (let folder = 0; folder <= BLOCKS * EACH; folder += 1) {
    mkdirSync(join(path, `src-${folder}`));
    for (let file = 0; file < FILES; file += 1) writeFileSync(join(path, `src-${folder}`, `${file}.txt`), `${folder} ${file}\n`);
  }
  for (const argv of [
    ["init", "-q"],
    ["add", "-A"],
    ["-c", "user.name=bench", "-c", "user.email=bench@localhost", "commit", "-qm", "all"],
  ])
    execFileSync("git", argv, { cwd: path, stdio: "pipe" });
}

async function run(guest, argv) {
  const { exitCode, stdout, stderr } = await guest.run({ argv, signal: NEVER });
  if (exitCode !== 0) throw new Error(`${argv[0]} ended with ${exitCode}: ${stderr}`);
  return stdout.toString();
}
