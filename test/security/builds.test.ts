import { mkdtemp, realpath, rm, writeFile } from "node:fs/promises";
import { symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect } from "vitest";
import { type BuildLab, inside, openBuildLab } from "../support/build-lab.ts";
import { outside } from "./support/outside.ts";
import { openHostService } from "./support/way-out.ts";
import { verifies } from "./verifies.ts";

const SECRET = "kept-from-builds";

/** A file of the host beside a context whose links lead to it. */
async function openSecret({ context }: BuildLab) {
  const folder = await realpath(await mkdtemp(join(tmpdir(), "bjsecret-")));
  const path = join(folder, "secret");
  await writeFile(path, SECRET, { mode: 0o644 });
  symlinkSync(folder, join(context, "folder"));
  symlinkSync(path, join(context, "file"));
  return { folder, path, [Symbol.asyncDispose]: () => rm(folder, { recursive: true }) };
}

verifies("builds-stay-inside", async () => {
  await using lab = await openBuildLab();
  await using secret = await openSecret(lab);
  const { folder, path } = secret;
  const up = `../${folder.split("/").at(-1)}/secret`;
  for (const name of ["folder/secret", "file", up])
    expect((await outside(["cat", join(lab.context, name)], { cwd: lab.context })).out).toBe(SECRET);
  const attacks = [
    ...["folder/secret", "folder/", "folder/*", "file", up, `dir/../${up}`, `./${up}`, path, `/..${path}`].map(
      (name) => `COPY ${name} /got`,
    ),
    `ENV UP=${up}\nCOPY $UP /got`,
    `COPY ["${up}", "/got"]`,
    "ADD file /got",
    `ADD file://${path} /got`,
    `COPY --from=base ${path} /got`,
    `COPY --from=scratch ${path} /got`,
    ...[path, `/proc/1/root${path}`, `/proc/self/root${path}`, `/proc/self/cwd/${up}`].map((name) => `RUN cat ${name} > /got`),
  ];
  for (const base of [lab.image, "base"])
    for (const attack of attacks) {
      const failed: unknown = await lab.build(`FROM ${base}\n${attack}`).catch((cause: unknown) => cause);
      expect(failed, attack).toMatchObject({ code: expect.stringMatching(/^(?:DOCKERFILE_INVALID|COMMAND_FAILED)$/) });
      expect(`${String(failed)}${lab.log()}`).not.toContain(SECRET);
    }
  await lab.build(`FROM ${lab.image}\nCOPY . /got/`);
  expect(await inside(lab, "readlink /got/file; cat /got/file /got/folder/secret 2>/dev/null || echo none")).toBe(`${path}\nnone`);
});

verifies("builds-reach-what-their-policy-allows", async () => {
  await using lab = await openBuildLab();
  await using host = await openHostService();
  const place = `127.0.0.1:${host.port}`;
  const curl = ["curl", "-sS", "-m", "20", "--noproxy", "", `http://${place}/`];
  expect((await outside(curl)).out).toContain("the host's own answer");
  const file = `FROM base\nRUN curl -sSf -m 20 --noproxy "" -x http://127.0.0.1:3128 http://${place}/ > /srv/got`;
  for (const network of [undefined, "none", "all", { allow: ["example.com"] }] as const)
    await expect(lab.build(file, network && { network })).rejects.toMatchObject({ code: "COMMAND_FAILED" });
  expect(host.requests).toHaveLength(1);
  await lab.build(file, { network: { allow: [place] } });
  expect(await inside(lab, "cat /srv/got")).toContain("the host's own answer");
  // What was fetched under a wider policy is no step of a narrower one.
  await expect(lab.build(file)).rejects.toMatchObject({ code: "COMMAND_FAILED" });
});
