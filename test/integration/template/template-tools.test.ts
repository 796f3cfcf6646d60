import { expect, it } from "vitest";
import { createCatalog } from "../../../src/catalog/catalog.ts";
import { narrowScope } from "../../../src/catalog/narrow-scope.ts";
import { fixedTools } from "../../../src/catalog/tool-source.ts";
import { LOCAL, type Principal } from "../../../src/sandbox/sandbox.ts";
import { createSandboxCreate } from "../../../src/tools/sandbox/sandbox-create.ts";
import { sandboxReadFile } from "../../../src/tools/sandbox/sandbox-read-file.ts";
import { templateTools } from "../../../src/tools/template/template-tools.ts";
import { addImage, BlobStore, tarOf, writeLayout } from "../../support/image-maker.ts";
import { openTemplateHome } from "../../support/template-home.ts";
import { textOf, toCalled } from "../../support/tool-caller.ts";

const OTHER: Principal = { id: "token:bob", name: "bob", grants: {} };
const NARROW: Principal = { id: LOCAL.id, name: "agent", grants: { toolsets: ["sandbox"] } };

async function openTools() {
  const home = await openTemplateHome();
  const { sandboxes } = home;
  const tools = [...templateTools(async () => home.templates), createSandboxCreate(sandboxes), sandboxReadFile];
  const catalog = createCatalog({
    sources: [fixedTools(tools)],
    sandboxes,
    defaultSandbox: () => ({ name: "default", options: {} }),
    scope: ({ grants }) => narrowScope({ toolsets: "all" }, grants),
  });
  return {
    call: async (name: string, args: object, principal = LOCAL) =>
      toCalled(await catalog.call(principal, name, args, { signal: new AbortController().signal })),
    [Symbol.asyncDispose]: () => home[Symbol.asyncDispose](),
  };
}

async function writeImage(content: string) {
  const store = new BlobStore();
  return writeLayout(store, [addImage(store, { layers: [{ plain: tarOf({ "srv/note": content }) }] })]);
}

it("a model makes a template of an image, sees it and starts sandboxes from it", async () => {
  await using tools = await openTools();
  await using image = await writeImage("of the image");
  const built = await tools.call("template_build", { name: "app", image: image.path, description: "The app" });
  expect(built.value).toMatchObject({ name: "app", image: image.path, layers: 1, is_own: true, is_shared: false });
  expect((await tools.call("template_list", {})).value).toEqual({ templates: [built.value] });
  const { id } = (await tools.call("sandbox_create", { template: "app" })).value;
  expect((await tools.call("sandbox_read_file", { id, path: "/srv/note" })).value).toMatchObject({
    content_base64: Buffer.from("of the image").toString("base64"),
  });
});

it("a model builds a Dockerfile, and is told which line failed", async () => {
  await using tools = await openTools();
  const build = (dockerfile: string) => tools.call("template_build", { name: "app", dockerfile, build_args: ["WORD=hello"] });
  const made = await build("FROM base\nARG WORD\nRUN printf %s $WORD > /srv/note");
  expect(made.value).toMatchObject({ name: "app", from: "base", layers: 1, is_own: true });
  const { id } = (await tools.call("sandbox_create", { template: "app" })).value;
  expect((await tools.call("sandbox_read_file", { id, path: "/srv/note" })).value).toMatchObject({
    content_base64: Buffer.from("hello").toString("base64"),
  });
  expect(textOf(await build("FROM base\nRUN echo why; exit 3"))).toMatch(/COMMAND_FAILED.*Line 2 .* exit code 3.*\nwhy/s);
});

it("a model is told what it may not, and what is missing", async () => {
  await using tools = await openTools();
  await using image = await writeImage("of the image");
  const textBy = async (principal: Principal, args: object) => textOf(await tools.call("template_build", args, principal));
  const both = { name: "app", image: image.path, snapshot_id: "kept" };
  for (const args of [{ name: "app" }, both]) expect(await textBy(LOCAL, args)).toContain("ARGUMENTS_INVALID");
  expect(await textBy(LOCAL, { name: "app", image: image.path, ready_port: 80 })).toContain("`start_command`");
  const copies = { name: "app", dockerfile: "FROM scratch\nCOPY blobs /", context: image.path };
  expect(await textBy(OTHER, copies)).toContain("FORBIDDEN");
  expect(await textBy(LOCAL, { name: "app", image: image.path, target: "last" })).toContain("of a Dockerfile alone");
  expect(await textBy(LOCAL, { name: "base", image: image.path })).toContain("one of Belljar's own");
  expect(await textBy(LOCAL, { name: "app", image: `${image.path}/none` })).toContain("IMAGE_NOT_FOUND");
  expect(await textBy(LOCAL, { name: "app", snapshot_id: "none" })).toContain("SNAPSHOT_NOT_FOUND");
  expect(await textBy(OTHER, { name: "app", image: image.path })).toContain("FORBIDDEN");
  expect(await textBy(NARROW, { name: "app", image: image.path })).toContain("toolset:template");
  expect((await tools.call("template_list", {})).value).toEqual({ templates: [] });
});

it("a model makes a template with a start command, and is told why its sandboxes do not begin", async () => {
  await using tools = await openTools();
  await using image = await writeImage("of the image");
  const started = { name: "started", image: image.path, start_command: "serve", ready_port: 80 };
  expect((await tools.call("template_build", started)).value).toMatchObject({ start_command: "serve" });
  expect(textOf(await tools.call("sandbox_create", { template: "started" }))).toMatch(/START_FAILED.*needs \/bin\/sh/);
});
