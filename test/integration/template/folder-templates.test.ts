import { chmodSync, mkdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { LOCAL, type Principal } from "../../../src/sandbox/sandbox.ts";
import { inside, openBuildLab, type BuildLab } from "../../support/build-lab.ts";
import { addShell } from "../../support/image-lab.ts";

const signal = new AbortController().signal;

async function make({ home }: BuildLab, folder: string, principal: Principal = LOCAL) {
  return home.templates.make(principal, { name: "built", folder }, signal);
}

it("a folder is what a sandbox has as its root folder, with its modes and links, and belongs to root", async () => {
  await using lab = await openBuildLab();
  addShell(lab.context);
  lab.put("srv/run", "#!/bin/sh\necho ran", 0o750);
  lab.put("etc/host", "of the folder");
  symlinkSync("/etc/host", join(lab.context, "srv/absolute"));
  symlinkSync("/etc/shadow", join(lab.context, "srv/outside"));
  chmodSync(join(lab.context, "srv"), 0o711);
  for (const [name, mode] of [
    ["tmp", 0o1777],
    ["srv/group", 0o2775],
    ["var", 0o750],
  ] as const) {
    mkdirSync(join(lab.context, name), { recursive: true });
    chmodSync(join(lab.context, name), mode);
  }
  const made = await make(lab, lab.context);
  expect(made).toMatchObject({ name: "built", source: { kind: "folder", path: lab.context }, base: "bare", layers: 1 });
  expect(
    await inside(lab, "/srv/run; cat /srv/absolute; echo; cat /srv/outside 2>&1; stat -c '%a %u %g' /srv /srv/run /srv/group /tmp /var"),
  ).toBe("ran\nof the folder\ncat: /srv/outside: No such file or directory\n711 0 0\n750 0 0\n2775 0 0\n1777 0 0\n750 0 0");
});

it("a caller reads no folder that it was not granted", async () => {
  await using lab = await openBuildLab();
  lab.put("file", "content");
  const agent: Principal = { id: "local", name: "agent", grants: { workspaces: [{ path: `${lab.context}/sub`, mode: "ro" }] } };
  for (const one of [agent, { ...LOCAL, isAnybody: true } as const])
    await expect(make(lab, lab.context, one)).rejects.toMatchObject({ code: "FORBIDDEN" });
  for (const folder of ["/", "/none", lab.home.crash.home])
    await expect(make(lab, folder)).rejects.toMatchObject({ code: "WORKSPACE_INVALID" });
});

it("where sandboxes may have no root, nothing is built, and the refusal names the setting", async () => {
  await using lab = await openBuildLab({ root: false });
  const refused = { code: "FORBIDDEN", message: expect.stringContaining("sandbox.root") as string };
  await expect(make(lab, lab.context)).rejects.toMatchObject(refused);
  await expect(lab.build("FROM base\nRUN true")).rejects.toMatchObject(refused);
  const debian = { name: "built", debian: { suite: "trixie" } };
  await expect(lab.home.templates.make(LOCAL, debian, signal)).rejects.toMatchObject(refused);
  expect(await lab.home.templates.make(LOCAL, { name: "image", image: lab.image }, signal)).toMatchObject({ name: "image" });
});
