import { chmod, mkdir, readdir, readFile, rename, stat, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { expect } from "vitest";
import type { Workspace } from "../../src/runtime/contract/sandbox-spec.ts";
import type { Box } from "./support/lab.ts";
import { encodeFields } from "../../src/protocol/fields.ts";
import { jailRefusal } from "./support/jail-refusal.ts";
import { useLab } from "./support/lab.ts";
import { isRoot, outside } from "./support/outside.ts";
import { verifies } from "./verifies.ts";

const lab = useLab(["setid", "rights"]);

/** A project of the host with one file and a link to a file beside it. */
async function createProject(mode: Workspace["mode"], name: string = mode): Promise<Workspace> {
  const path = join(dirname(lab.home), `project-${name}`);
  await mkdir(path);
  await chmod(path, 0o755);
  await writeFile(join(path, "file"), "before", { mode: 0o644 });
  await writeFile(`${path}.txt`, "beside", { mode: 0o644 });
  await symlink(`${path}.txt`, join(path, "link"));
  return { path, mode };
}

const CHANGES = "echo after > file; echo after > link; touch new; rm -f file; chmod 777 .; mkdir folder; ln file hard; mv file moved";

verifies("workspace-as-given", async () => {
  for (const mode of ["ro", "copy", "rw"] as const) {
    const workspace = await createProject(mode);
    expect((await outside(["cat", join(workspace.path, "link")])).out).toBe("beside");
    await using box = await lab.box({ workspace });
    if (mode !== "rw") await expectUnchanged(box, workspace);
    else expect((await box.run(["sh", "-c", "echo after > file"], { user: "user" })).code).toBe(0);
    expect(await readFile(`${workspace.path}.txt`, "utf8")).toBe("beside");
    if (mode === "rw") {
      expect(await readFile(join(workspace.path, "file"), "utf8")).toBe("after\n");
    }
  }
});

async function expectUnchanged(box: Box, { path }: Workspace): Promise<void> {
  const before = await stat(path);
  for (const user of ["root", "user"]) await box.run(["sh", "-c", CHANGES], { user });
  expect(await readFile(join(path, "file"), "utf8")).toBe("before");
  expect((await readdir(path)).toSorted()).toEqual(["file", "link"]);
  expect(await stat(path)).toMatchObject({ mode: before.mode, mtimeMs: before.mtimeMs });
}

verifies("workspace-stays-checked", async () => {
  for (const mode of ["ro", "copy", "rw"] as const) {
    const { path } = await createProject("rw", `team-${mode}`);
    const secret = await createProject("ro", `secret-${mode}`);
    await mkdir(join(path, "part/below"), { recursive: true });
    await mkdir(join(secret.path, "below"));
    const workspace = { path: join(path, "part/below"), mode };
    await expectShown(workspace, "");
    // Whoever may write to the folder above exchanges its part for a link, after the check of the path.
    await writeFile(join(secret.path, "below/key"), "secret", { mode: 0o644 });
    await rename(join(path, "part"), join(path, "moved"));
    await symlink(secret.path, join(path, "part"));
    expect((await outside(["cat", join(workspace.path, "key")])).out).toBe("secret");
    await expect(lab.box({ workspace })).rejects.toMatchObject({ message: expect.stringContaining("has a link in it") });
    await expect(lab.box({ workspace: { path: join(path, "part"), mode } })).rejects.toMatchObject({ name: "BelljarError" });
    await expectShown({ path: join(secret.path, "below"), mode }, "key\n");
  }
});

verifies("workspace-stays-checked", async ({ skip }) => {
  skip(!isRoot, "only root maps the owner's id");
  // The owner's id becomes the sandbox's: it must be the owner of the folder that is mounted.
  const { path } = await createProject("rw", "owned");
  const { uid, gid } = await stat(path);
  expect(await ownerRefusal(path, uid + 1, gid)).toContain("owner has changed");
  expect(await ownerRefusal(path, uid, gid + 1)).toContain("owner has changed");
  expect(await ownerRefusal(path, uid, gid)).not.toContain("owner has changed");
});

async function expectShown(workspace: Workspace, names: string): Promise<void> {
  await using box = await lab.box({ workspace });
  expect((await box.run(["ls"])).out).toBe(names);
}

/** What the jail says of a workspace whose owner was read as these ids, and of a root that nothing makes. */
function ownerRefusal(path: string, uid: number, gid: number): Promise<string> {
  const bind = encodeFields([
    ["KIND", 2],
    ["TARGET", "/workspace"],
    ["PATH", path],
    ["IDS", 2],
  ]);
  const owner = [
    ["WORKSPACE_UID", uid],
    ["WORKSPACE_GID", gid],
  ] as const;
  return jailRefusal(lab.home, [["DEADLINE_MS", 0n], ...owner, ["SETUP", bind]]);
}

/** A setuid program of the workspace's owner would be a door for every other user of the host. */
async function expectNoSetid(box: Box, path: string): Promise<void> {
  const shown = join(dirname(lab.home), "shown");
  await mkdir(shown);
  expect((await outside([lab.attack("setid"), shown])).out).not.toBe("");
  expect(await setidFiles(shown)).not.toEqual([]);
  const setid = await box.install("setid");
  for (const user of ["root", "user"]) {
    await box.run([setid, "/workspace"], { user });
    for (const file of ["setid", "file"]) {
      await box.guest.files
        .setAttributes(`/workspace/${file}`, { mode: 0o6777, user, signal: AbortSignal.timeout(30_000) })
        .catch(() => {});
    }
  }
  expect(await setidFiles(path)).toEqual([]);
}

async function setidFiles(folder: string): Promise<readonly string[]> {
  const { out } = await outside(["find", folder, "-type", "f", "-perm", "/6000", "-printf", "%f %m\n"]);
  return out.split("\n").filter((line) => line !== "");
}

verifies("workspace-takes-no-rights", async () => {
  const workspace = await createProject("rw", "rights");
  await using box = await lab.box({ workspace });
  await expectNoSetid(box, workspace.path);
  await expectNoRights(box, workspace.path);
});

/** Another user of the host who finds such a file would have its rights; and its owner could not take some of it back. */
async function expectNoRights(box: Box, path: string): Promise<void> {
  const asRootOfNamespace = isRoot ? [] : ["unshare", "--user", "--map-root-user"];
  const shown = join(dirname(lab.home), "shown-rights");
  await mkdir(shown);
  const reached = (await outside([...asRootOfNamespace, lab.attack("rights"), shown])).out.split("\n");
  expect(reached).toEqual(expect.arrayContaining(["security.capability 2", "whiteout by mknod", "whiteout by rename"]));
  expect(await rightsOf(shown)).toEqual(expect.arrayContaining(["security.capability", "device"]));
  const owners = await ownersAttributes();
  const rights = await box.install("rights");
  for (const user of ["root", "user"]) {
    const { out } = await box.run([rights, "/workspace"], { user });
    expect({ user, got: out.split("\n").filter((line) => !owners.includes(line)) }).toEqual({ user, got: [] });
    for (const name of ["security.capability", "trusted.belljar"])
      await expect(
        box.guest.files.setXattr("/workspace/file", name, Buffer.alloc(24), { user, signal: AbortSignal.timeout(30_000) }),
      ).rejects.toMatchObject({ name: "BelljarError" });
  }
  expect((await rightsOf(path)).filter((name) => !owners.includes(`${name} 2`))).toEqual([]);
}

/** What anybody may set on a file of his own, without a capability: a label, where SELinux is there and has no policy. */
async function ownersAttributes(): Promise<readonly string[]> {
  const folder = join(dirname(lab.home), "shown-plain");
  await mkdir(folder);
  await chmod(folder, 0o777);
  const drop = isRoot ? ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"] : [];
  await chmod(dirname(lab.home), 0o711);
  const { out } = await outside([...drop, lab.attack("rights"), folder]);
  expect(out).not.toContain("security.capability");
  return ["", ...out.split("\n").filter((line) => line.startsWith("security."))];
}

/** What the host sees on the inodes: attributes of the kernel's own names, devices, flags. */
async function rightsOf(folder: string): Promise<readonly string[]> {
  const names = await outside(["python3", "-c", RIGHTS, folder]);
  return names.out.split("\n").filter((line) => line !== "");
}

const RIGHTS = `
import os, stat, sys
for top, folders, files in os.walk(sys.argv[1]):
  for name in folders + files:
    path = os.path.join(top, name)
    if stat.S_ISCHR(os.lstat(path).st_mode) or stat.S_ISBLK(os.lstat(path).st_mode): print("device")
    for attribute in os.listxattr(path, follow_symlinks=False):
      if not attribute.startswith(("user.", "system.posix_acl_")): print(attribute)
`;
