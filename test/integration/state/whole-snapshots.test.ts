import { execFileSync } from "node:child_process";
import { chmod, link, mkdir, readFile, rm, symlink, truncate, writeFile } from "node:fs/promises";
import { expect, it } from "vitest";
import { LOCAL } from "../../../src/sandbox/sandbox.ts";
import { openProjectFolder, type ProjectFolder } from "../../support/project-folder.ts";
import { openStateHome, shell, STATE_STORAGES } from "../../support/state-home.ts";
import { setXattr, tellXattrs } from "../../support/state-lab.ts";
import { createTestTexts } from "../../support/test-texts.ts";

const signal = new AbortController().signal;
const LOOK =
  "find . -mindepth 1 \\( -type d -printf '%P d %m %U:%G\\n' -o -printf '%P %y %m %U:%G %s %n %l\\n' \\) | LC_ALL=C sort; cat a sub/b changed added; du -k hole | awk '{ print ($1 < 1024) }'";

/** A folder of the host with a bit of all. */
async function openFolder(): Promise<ProjectFolder> {
  const folder = await openProjectFolder();
  const { path } = folder;
  await mkdir(`${path}/sub`);
  await writeFile(`${path}/a`, "host\n");
  await link(`${path}/a`, `${path}/sub/b`);
  await writeFile(`${path}/changed`, "host\n");
  await writeFile(`${path}/removed`, "host\n");
  await symlink("a", `${path}/link`);
  await writeFile(`${path}/hole`, "");
  await truncate(`${path}/hole`, 50 * 2 ** 20);
  await writeFile(`${path}/script`, "#!/bin/sh\n");
  await chmod(`${path}/script`, 0o750);
  execFileSync("sh", ["-c", setXattr(`${path}/a`, "colour", "red")]);
  return folder;
}

it.each(STATE_STORAGES)("a whole snapshot does not depend on the folder of the host, on %s", async (storage) => {
  await using folder = await openFolder();
  await using home = await openStateHome(storage);
  const { snapshots } = home.sandboxes;
  const { path } = folder;
  const sandbox = await home.sandboxes.create(LOCAL, { workspace: { path, mode: "copy" } }, signal);
  await shell(sandbox, "cd /workspace; echo inside > changed; rm removed; echo inside > added; echo own > ~/own");
  const before = await shell(sandbox, `cd /workspace; ${LOOK}; ${tellXattrs("a")}`);
  const made = await snapshots.create(LOCAL, sandbox.id, { whole: true, name: "whole" }, signal);
  expect(made).toMatchObject({ sandbox: sandbox.id, tookIn: path, way: "copy", copyReason: "durable" });
  expect(made).not.toHaveProperty("workspace");
  const live = async () => (await home.sandboxes.list(LOCAL, { filter: { state: ["running"] } })).sandboxes.map(({ id }) => id);
  expect(await live()).toEqual([sandbox.id]);
  await sandbox.kill();
  await rm(path, { recursive: true });

  const forks = await snapshots.fork(LOCAL, { snapshot: "whole" }, {}, signal);
  const fork = forks[0]!;
  expect(forks.lost).toEqual([]);
  expect(await fork.info()).toMatchObject({ tookIn: path, inside: { workspace: path } });
  expect((await fork.info()).workspace).toBeUndefined();
  expect(await shell(fork, `cd /workspace; ${LOOK}; ${tellXattrs("a")}`)).toBe(before);
  expect(await shell(fork, "cat ~/own; pwd; cd /workspace; pwd -P; ls removed 2>&1 | wc -l")).toBe(`own\n${path}\n${path}\n1`);
  await shell(fork, "cd /workspace; echo fork > changed; echo more >> a");
  // What it has can be kept again, and all of it is its own.
  const again = await snapshots.create(LOCAL, fork.id, {}, signal);
  expect(again.tookIn).toBe(path);
  const [second] = await snapshots.fork(LOCAL, { snapshot: again.id }, {}, signal);
  expect(await shell(second!, "cat /workspace/changed; tail -n 1 /workspace/a")).toBe("fork\nmore");
  for (const one of [fork, second!]) await one.kill();
  for (const one of [made, again]) await snapshots.remove(LOCAL, one.id);
  await home.sandboxes.sweep();
  expect([await home.layers(), home.problems]).toEqual([[], []]);
});

it("a fork of a whole snapshot never writes to the host, and is not merged into what shows the folder", async () => {
  await using folder = await openFolder();
  using texts = createTestTexts();
  await using home = await openStateHome("home", { texts });
  const { snapshots } = home.sandboxes;
  const sandbox = await home.sandboxes.create(LOCAL, { workspace: { path: folder.path, mode: "rw" } }, signal);
  const { id } = await snapshots.create(LOCAL, sandbox.id, { whole: true }, signal);
  const [fork] = await snapshots.fork(LOCAL, { snapshot: id }, {}, signal);
  await shell(fork!, "echo fork > /workspace/a; rm -r /workspace/sub");
  expect(await readFile(`${folder.path}/sub/b`, "utf8")).toBe("host\n");
  await expect(sandbox.timeLine.merge(fork!, undefined, signal)).rejects.toMatchObject({ code: "ARGUMENTS_INVALID" });
  const [sister] = await snapshots.fork(LOCAL, { snapshot: id }, {}, signal);
  expect(await sister!.timeLine.merge(fork!, ["/workspace"], signal)).toMatchObject({ conflicts: [] });
  expect(await shell(sister!, "cat /workspace/a; ls /workspace/sub 2>&1 | wc -l")).toBe("fork\n1");
  await expect(
    home.sandboxes.create(LOCAL, { template: id, workspace: { path: folder.path, mode: "copy" } }, signal),
  ).rejects.toMatchObject({
    code: "ARGUMENTS_INVALID",
  });
});

it("nothing is taken in of a sandbox that shows no folder, and nothing is left of a folder that does not fit", async () => {
  await using folder = await openFolder();
  await using home = await openStateHome("tmpfs");
  const { snapshots } = home.sandboxes;
  const bare = await home.sandboxes.create(LOCAL, {}, signal);
  await expect(snapshots.create(LOCAL, bare.id, { whole: true }, signal)).rejects.toMatchObject({ code: "ARGUMENTS_INVALID" });
  await writeFile(`${folder.path}/large`, Buffer.alloc(40 * 2 ** 20, "x"));
  const limits = { diskBytes: 20 * 2 ** 20 };
  const small = await home.sandboxes.create(LOCAL, { workspace: { path: folder.path, mode: "copy" }, limits }, signal);
  await expect(snapshots.create(LOCAL, small.id, { whole: true }, signal)).rejects.toMatchObject({ code: "COMMAND_FAILED" });
  const { sandboxes } = await home.sandboxes.list(LOCAL, { filter: { state: ["running"] } });
  expect(sandboxes.map(({ id }) => id).toSorted()).toEqual([bare.id, small.id].toSorted());
  expect([await snapshots.list(LOCAL), await home.layers()]).toEqual([[], []]);
});
