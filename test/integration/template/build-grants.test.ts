import { symlinkSync } from "node:fs";
import { mkdtemp, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { LOCAL, type Principal } from "../../../src/sandbox/sandbox.ts";
import { type BuildLab, inside, openBuildLab } from "../../support/build-lab.ts";

const signal = new AbortController().signal;
const FORBIDDEN = { code: "FORBIDDEN" };

/** A caller with the local user's own id that was granted these folders alone. */
function agent(...paths: readonly string[]): Principal {
  return { id: "local", name: "agent", grants: { workspaces: paths.map((path) => ({ path, mode: "ro" })) } };
}

it("a caller with a token reads no folder and no image that it was not granted, and gives its build no wider network", async () => {
  await using lab = await openBuildLab();
  lab.put("file", "content");
  const file = `FROM ${lab.image}\nCOPY file /srv/`;
  for (const granted of [[], [lab.context], [lab.image]])
    await expect(lab.build(file, {}, agent(...granted))).rejects.toMatchObject(FORBIDDEN);
  const both = agent(lab.context, lab.image);
  const closed = { ...both, grants: { ...both.grants, network: "none" as const } };
  await expect(lab.build(`${file}\nRUN true`, { network: "all" }, closed)).rejects.toMatchObject(FORBIDDEN);
  await expect(lab.build(file, {}, both)).resolves.toMatchObject({ name: "built" });
});

it("a context that a link leads to must be granted by both of its names", async () => {
  await using lab = await openBuildLab();
  lab.put("real/file", "content");
  lab.put("links/.keep");
  const [real, link] = [join(lab.context, "real"), join(lab.context, "links/link")];
  symlinkSync(real, link);
  const build = (...granted: readonly string[]) =>
    lab.build("FROM scratch\nCOPY file /srv/", { context: link }, agent(...granted)).catch((cause: unknown) => cause);
  expect([await build(link), await build(real)]).toEqual([expect.objectContaining(FORBIDDEN), expect.objectContaining(FORBIDDEN)]);
  expect(await build(link, real)).toMatchObject({ name: "built", layers: 1 });
});

it("whoever has no token of a server that everybody reaches copies nothing of its host", async () => {
  await using lab = await openBuildLab();
  lab.put("file", "content");
  const anybody = { ...LOCAL, isAnybody: true } as const;
  await expect(lab.build("FROM scratch\nCOPY file /srv/", {}, anybody)).rejects.toMatchObject(FORBIDDEN);
  await expect(lab.build("FROM base\nRUN true", {}, anybody)).resolves.toMatchObject({ name: "built" });
});

it.each(["/", "/etc", "/none", "home"])("a folder that could be no workspace is no context either: %s", async (context) => {
  await using lab = await openBuildLab();
  const path = context === "home" ? lab.home.crash.home : context;
  const built = lab.build("FROM scratch\nCOPY passwd /srv/", { context: path });
  await expect(built).rejects.toMatchObject({ code: "WORKSPACE_INVALID" });
  await expect(lab.build("FROM scratch", { context: path })).resolves.toMatchObject({ layers: 0 });
});

it.each(["FROM taken\nWORKDIR /srv/new", "FROM taken AS first\nFROM base\nCOPY --from=first /etc/hostname /srv/"])(
  "a template with the files of a folder keeps them from others in what is built on it: %j",
  async (file) => {
    await using lab = await openBuildLab();
    await using folder = await takeIn(lab, "taken");
    await expect(lab.build(file, {}, agent())).rejects.toMatchObject(FORBIDDEN);
    await lab.build(file);
    await expect(lab.build(file, {}, agent())).rejects.toMatchObject(FORBIDDEN);
    const start = (principal: Principal) => lab.home.sandboxes.create(principal, { template: "built" }, signal);
    await expect(start(agent())).rejects.toMatchObject(FORBIDDEN);
    await (await start({ ...agent(), grants: { workspaces: [{ path: folder.path, mode: "rw" }] } })).kill();
    expect(await inside(lab, "true")).toBe("");
  },
);

it("files of two folders of the host do not come into one template", async () => {
  await using lab = await openBuildLab();
  await using _one = await takeIn(lab, "one");
  await using _two = await takeIn(lab, "two");
  const built = lab.build("FROM one\nCOPY --from=two /etc/hostname /srv/");
  await expect(built).rejects.toMatchObject({ code: "DOCKERFILE_INVALID" });
});

/** A template of a sandbox that has the files of a folder of the host as its own. */
async function takeIn({ home }: BuildLab, name: string) {
  const path = await realpath(await mkdtemp(join(tmpdir(), "bjtaken-")));
  await writeFile(join(path, "file"), "of the host");
  const sandbox = await home.sandboxes.create(LOCAL, { workspace: { path, mode: "rw" } }, signal);
  const { id } = await home.sandboxes.snapshots.create(LOCAL, sandbox.id, { whole: true }, signal);
  await sandbox.kill();
  await home.templates.make(LOCAL, { name, snapshot: id }, signal);
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true }) };
}
