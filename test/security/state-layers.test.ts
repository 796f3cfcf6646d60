import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { verifies } from "./verifies.ts";
import { type LayerLab, openLayerLab } from "../support/layer-lab.ts";

const FIXTURES = join(import.meta.dirname, "../fixtures");

/** A folder of the host beside the layers, with what no state has. */
function makeOutside(lab: LayerLab): string {
  const outside = join(lab.folder, "outside");
  mkdirSync(outside);
  writeFileSync(join(outside, "stolen"), "stolen content");
  writeFileSync(join(outside, "file"), "stolen content");
  return outside;
}

it("a link in a layer leads nowhere, wherever it stands in a path", async () => {
  using lab = openLayerLab();
  const [template, upper] = [lab.layer("template"), lab.layer("upper")];
  const outside = makeOutside(lab);
  mkdirSync(join(template, "folder"));
  symlinkSync(outside, join(upper, "folder"));
  symlinkSync(join(outside, "stolen"), join(upper, "file"));
  symlinkSync("../../../outside", join(upper, "up"));
  const state = lab.state(["template"], "upper");
  expect(await lab.tell(lab.state(["template"]), state)).toEqual(["added link /file", "added link /up", "changed directory->link /folder"].toSorted()); // prettier-ignore
  for (const path of ["/file", "/folder/stolen", "/up/stolen"])
    await expect(lab.read(state, path)).rejects.toMatchObject({ code: "FILE_NOT_FOUND" });
});

it("a pipe in a layer holds nobody up", async () => {
  using lab = openLayerLab();
  const [one, other] = [lab.layer("one"), lab.layer("other")];
  for (const layer of [one, other]) execFileSync("mkfifo", [join(layer, "pipe")]);
  const [before, after] = [lab.state(["one"]), lab.state(["other"])];
  expect(await lab.tell(before, after)).toEqual([]);
  await expect(lab.read(after, "/pipe")).rejects.toMatchObject({ code: "FILE_NOT_FOUND" });
});

verifies("states-stay-in-layers", async () => {
  using lab = openLayerLab();
  const [template, upper] = [lab.layer("template"), lab.layer("upper")];
  const outside = makeOutside(lab);
  for (const layer of [template, upper]) mkdirSync(join(layer, "folder"));
  writeFileSync(join(upper, "folder/file"), "own");
  symlinkSync(outside, join(upper, "link"));
  const swap = spawn("python3", [join(FIXTURES, "swap-folders.py"), join(upper, "folder"), join(upper, "link")], { stdio: ["ignore", "pipe", "inherit"] }); // prettier-ignore
  try {
    await once(swap.stdout, "data");
    expect(execFileSync("python3", [join(FIXTURES, "naive-walk.py"), upper], { encoding: "utf8" })).toBe("stolen\n");
    const [before, now] = [lab.state(["template"]), lab.state(["template"], "upper")];
    for (let i = 0; i < 60; i++) {
      const told = (await lab.tell(before, now)).join("\n");
      expect(told).not.toContain("stolen");
      const content = await lab.read(now, "/folder/file").catch((error: unknown) => error);
      expect(Buffer.isBuffer(content) ? content.toString() : (content as { code: string }).code).toMatch(/^(?:own|FILE_NOT_FOUND)$/);
    }
  } finally {
    swap.kill("SIGKILL");
  }
});

it("a path that is no plain one is not read", async () => {
  using lab = openLayerLab();
  writeFileSync(join(lab.layer("one"), "file"), "x");
  for (const path of ["/../outside", "/./file", "//file", "/file/", "file", "/"])
    await expect(lab.read(lab.state(["one"]), path)).rejects.toMatchObject({
      code: expect.stringMatching(/^(?:RUNTIME_FAILED|FILE_NOT_FOUND)$/),
    });
});
