import { chmodSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { expect, it, vi } from "vitest";
import { LOCAL } from "../../../src/sandbox/sandbox.ts";
import { addImage, BlobStore, tarOf, writeLayout } from "../../support/image-maker.ts";
import { type BuildLab, inside, openBuildLab } from "../../support/build-lab.ts";

const CHANGES: readonly (readonly [
  string,
  (lab: BuildLab) => { readonly from?: string; readonly file?: string; readonly args?: Record<string, string> },
])[] = [
  ["the command", () => ({ file: "RUN echo other > /srv/ran" })],
  ["a variable", () => ({ from: "ENV A=c" })],
  ["an argument", () => ({ args: { ARG: "other" } })],
  ["the user", () => ({ from: "ENV A=b\nUSER 0:0" })],
  ["the folder", () => ({ from: "ENV A=b\nWORKDIR /home" })],
  ["the content of a file", (lab) => (lab.put("file", "other"), {})],
  ["the mode of a file", (lab) => (chmodSync(join(lab.context, "file"), 0o755), {})],
];

it("a build with nothing changed takes over each step, and runs none", async () => {
  await using lab = await openBuildLab();
  lab.put("file", "content");
  const file = ["FROM " + lab.image, "WORKDIR /srv/new", "RUN echo ran > ran", "COPY file ."].join("\n");
  const first = await lab.build(file);
  const layers = await lab.home.layers();
  expect(lab.hits()).toBe(0);
  const second = await lab.build(file);
  expect(lab.hits()).toBe(3);
  expect(second.id).not.toBe(first.id);
  expect(await lab.home.layers()).toEqual(layers);
  expect(await inside(lab, "cat /srv/new/ran /srv/new/file")).toBe("ran\ncontent");
});

it("what comes to the same as before is not tried again, and with another user or folder it is", async () => {
  await using lab = await openBuildLab();
  const sandboxes = vi.spyOn(lab.home.sandboxes, "create");
  const startsSandboxes = async (...settings: readonly string[]) => {
    sandboxes.mockClear();
    await lab.build(["FROM " + lab.image, ...settings].join("\n"));
    return sandboxes.mock.calls.length > 0;
  };
  expect(await startsSandboxes()).toBe(true);
  expect(await startsSandboxes("CMD other")).toBe(false);
  expect(await startsSandboxes("USER ann")).toBe(true);
  expect(await startsSandboxes("USER ann", "WORKDIR /srv/app")).toBe(true);
  expect(await startsSandboxes("USER ann", "WORKDIR /srv/app")).toBe(false);
  expect(await inside(lab, "echo $HOME; pwd")).toBe("/home/ann\n/srv/app");
  expect(await lab.home.templates.info(LOCAL, "built")).toMatchObject({ user: "ann", cwd: "/srv/app" });
});

it.each(CHANGES)("a step is done again when %s has changed", async (_what, change) => {
  await using lab = await openBuildLab();
  lab.put("file", "content");
  const write = ({ from = "ENV A=b", file = "RUN echo $ARG > /srv/ran" }): string =>
    [`FROM ${lab.image}`, "ARG ARG=arg", from, "COPY file /srv/", file].join("\n");
  await lab.build(write({}));
  await lab.build(write({}));
  expect(lab.hits()).toBe(2);
  const { args = {}, ...changed } = change(lab);
  await lab.build(write(changed), { buildArgs: args });
  expect(lab.hits()).toBeLessThan(2);
});

it("steps on an image of many layers are taken over, also once no template has them", async () => {
  await using lab = await openBuildLab();
  lab.put("file", "content");
  const store = new BlobStore();
  const layers = Array.from({ length: 9 }, (_, at) => ({ plain: tarOf({ [`srv/f${at}`]: String(at) }) }));
  await using image = await writeLayout(store, [addImage(store, { layers })]);
  const file = `FROM ${image.path}\nWORKDIR /srv/new\nCOPY file .`;
  expect(await lab.build(file)).toMatchObject({ layers: 11 });
  await lab.build(file);
  expect(lab.hits()).toBe(2);
  await lab.home.templates.remove(LOCAL, "built");
  const kept = await lab.home.layers();
  expect(await lab.build(file)).toMatchObject({ layers: 11 });
  expect(lab.hits()).toBe(2);
  expect(await lab.home.layers()).toEqual(expect.arrayContaining([...kept]));
  expect(await lab.build("FROM built\nWORKDIR /srv/newer", { name: "above" })).toMatchObject({ layers: 12 });
  expect(lab.log()).toMatch(/^"built" is the template of "local"$/m);
  for (const name of ["built", "above"]) await lab.home.templates.remove(LOCAL, name);
  await lab.home.templates.prune(LOCAL);
  expect(await lab.home.layers()).toEqual([]);
});

it("a step whose layer is gone is done again, and takes nothing else with it", async () => {
  await using lab = await openBuildLab();
  const file = `FROM ${lab.image}\nRUN echo ran > /srv/ran`;
  await lab.build(`FROM ${lab.image}`);
  const below = await lab.home.layers();
  await lab.build(file);
  await lab.home.templates.remove(LOCAL, "built");
  const [step = ""] = (await lab.home.layers()).filter((layer) => !below.includes(layer));
  const users = await readdir(join(lab.home.crash.home, "layers", step, "users"));
  for (const user of users) await lab.home.runtime.layers.states?.letGo([step], user);
  await lab.build(file);
  expect(lab.hits()).toBe(0);
  expect(await inside(lab, "cat /srv/ran /srv/app/first")).toBe("ran\nfrom below");
  await lab.build(file);
  expect(lab.hits()).toBe(1);
});

it("builds of several names that do the same at once all come to their templates", async () => {
  await using lab = await openBuildLab();
  const file = `FROM ${lab.image}\nRUN echo ran > /srv/ran\nRUN echo more > /srv/more`;
  const names = ["one", "two", "three"];
  const { templates } = lab.home;
  const made = await Promise.all(names.map((name) => templates.make(LOCAL, { name, dockerfile: file }, new AbortController().signal)));
  expect(made.map(({ name }) => name)).toEqual(names);
  for (const name of names) expect(await inside(lab, "cat /srv/ran /srv/more", name)).toBe("ran\nmore");
  for (const name of names) await templates.remove(LOCAL, name);
  await templates.prune(LOCAL);
  await lab.home.sweepOld();
  expect(await lab.home.layers()).toEqual([]);
});

it("no owner takes over a step of another one", async () => {
  await using lab = await openBuildLab();
  const file = `FROM ${lab.image}\nRUN touch /srv/ran`;
  await lab.build(file);
  await lab.build(file, {}, { id: "other", name: "other" });
  expect(lab.hits()).toBe(0);
  await lab.build(file, {}, { id: "other", name: "other" });
  expect(lab.hits()).toBe(1);
});

it("a prune removes what no template of the owner has, and nothing of others", async () => {
  await using lab = await openBuildLab();
  const file = (text: string): string => `FROM ${lab.image}\nRUN echo ${text} > /srv/ran`;
  await lab.build(file("first"));
  await lab.build(file("theirs"), {}, { id: "other", name: "other" });
  await lab.build(file("second"));
  expect(await lab.home.templates.prune(LOCAL)).toMatchObject({ steps: 1 });
  await lab.build(file("second"));
  expect(lab.hits()).toBe(1);
  await lab.build(file("first"));
  expect(lab.hits()).toBe(0);
  await lab.home.templates.remove(LOCAL, "built");
  await lab.home.templates.prune(LOCAL);
  await lab.home.templates.remove({ id: "other", name: "other" }, "built");
  await lab.home.templates.prune({ id: "other", name: "other" });
  expect(await lab.home.layers()).toEqual([]);
});
