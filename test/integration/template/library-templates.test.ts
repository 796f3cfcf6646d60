import { expect, it } from "vitest";
import { createInterpreter, createStoredTemplates, createTemplates, LOCAL, type Principal } from "../../../src/index.ts";
import { byName } from "../../support/by-name.ts";
import { addProgram, addShell, layerOf } from "../../support/image-lab.ts";
import { addImage, BlobStore, writeLayout } from "../../support/image-maker.ts";
import { openStateHome } from "../../support/state-home.ts";

const signal = new AbortController().signal;
const OTHER: Principal = { id: "other", name: "other" };

async function writeImage() {
  const store = new BlobStore();
  const plain = await layerOf((root) => {
    addShell(root);
    addProgram(root, "perl");
  });
  return writeLayout(store, [addImage(store, { layers: [{ plain }] })]);
}

it("a program makes, lists, shows, shares and removes templates of images, and runs languages in them", async () => {
  let stored: ReturnType<typeof createStoredTemplates> | undefined;
  await using home = await openStateHome("home", (path) => ({ templates: (stored = createStoredTemplates(path)) }));
  if (!stored) throw new Error("the home asked for no templates");
  const { sandboxes, runtime, crash } = home;
  const parts = { home: crash.home, stored, sandboxes, runtimes: byName(runtime), config: {} };
  const templates = createTemplates(parts);
  await using image = await writeImage();
  const made = await templates.make(LOCAL, { name: "perl", image: image.path, description: "Perl" }, signal);
  expect(made).toMatchObject({ name: "perl", layers: 1, isShared: false, source: { kind: "image", from: image.path } });
  expect(await templates.info(LOCAL, "perl")).toEqual(made);
  expect(await templates.list(LOCAL)).toEqual([made]);
  expect(await templates.list(OTHER)).toEqual([]);
  await templates.share(LOCAL, "perl", true);
  expect(await templates.list(OTHER)).toMatchObject([{ name: "perl", isShared: true }]);

  await using interpreter = createInterpreter({ sandboxes, languages: { perl: { template: "perl" } } });
  const program = { language: "perl", code: "print -e '/usr' ? 'this machine' : 'the image'" };
  for (const principal of [LOCAL, OTHER])
    expect(await interpreter.runProgram(principal, program, { signal })).toMatchObject({ stdout: "the image" });

  const bounded = createTemplates({ ...parts, maxBytes: 1000 });
  await expect(bounded.make(LOCAL, { name: "big", image: image.path }, signal)).rejects.toMatchObject({ code: "IMAGE_TOO_LARGE" });
  await expect(templates.make(LOCAL, { name: "none", image: "alpine" }, signal)).rejects.toMatchObject({ code: "NOT_SUPPORTED" });
  await templates.remove(LOCAL, "perl");
  await expect(templates.info(LOCAL, "perl")).rejects.toMatchObject({ code: "TEMPLATE_NOT_FOUND" });
});
