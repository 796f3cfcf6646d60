import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { openCliHome } from "../support/belljar-cli.ts";
import { addShell, layerOf, put } from "../support/image-lab.ts";
import { addImage, BlobStore, type Folder, tarOf, writeLayout } from "../support/image-maker.ts";

/** An image with a shell, in whose folder a note lies. */
async function writeImage(): Promise<Folder> {
  const store = new BlobStore();
  const plain = await layerOf((root) => {
    addShell(root);
    put(root, "srv/note", "of the image");
  });
  const config = { Env: ["PATH=/bin", "GREETING=hello"], WorkingDir: "/srv", Cmd: ["sh"] };
  return writeLayout(store, [addImage(store, { layers: [{ plain }], config: { config } })]);
}

/** Calls the CLI, on the home or on a server of it, as the holder of a token that may read the host's images and share templates. */
async function openCli(at: "home" | "server") {
  const home = await openCliHome();
  const server = at === "server" ? home.start(["serve", "--port", "0"]) : undefined;
  const [, url = ""] = (await server?.says(/serves MCP at (http:\/\/[^/]+)\/mcp/)) ?? [];
  const token = await home.run(["token", "create", "person", "--scope", "workspaces", "--scope", "template-share"]);
  const env: Readonly<Record<string, string>> = server ? { BELLJAR_URL: url, BELLJAR_TOKEN: token.stdout.trim() } : {};
  const run = (...argv: readonly string[]) => home.run(argv, { env, cwd: home.folder });
  return {
    folder: home.folder,
    run,
    /** What it prints, without the last line break. It must succeed. */
    belljar: async (...argv: readonly string[]): Promise<string> => {
      const { code, stdout, stderr } = await run(...argv);
      expect({ code, stderr }, argv.join(" ")).toEqual({ code: 0, stderr: "" });
      return stdout.replace(/\n$/, "");
    },
    async [Symbol.asyncDispose]() {
      await server?.[Symbol.asyncDispose]();
      await home[Symbol.asyncDispose]();
    },
  };
}

it.each(["home", "server"] as const)("imports an image and starts sandboxes from it, on a %s", async (at) => {
  await using image = await writeImage();
  await using cli = await openCli(at);
  const { belljar } = cli;
  expect(await belljar("template", "import", "app", image.path, "--description", "The app")).toBe("app");
  expect(await belljar("template", "list", "-q")).toBe("app");
  expect(await belljar("template", "ls")).toMatch(/^NAME +FROM .*\napp .*The app$/);
  expect(JSON.parse(await belljar("template", "list", "--json"))).toMatchObject([{ name: "app", layers: 1, isShared: false }]);
  const rows = await belljar("template", "info", "app");
  for (const row of [/^folder +\/srv$/m, /^command +\["sh"\]$/m, /^variable +GREETING=hello$/m, /^digest +sha256:/m])
    expect(rows).toMatch(row);
  const id = await belljar("sandbox", "create", "--template", "app");
  expect(await belljar("exec", id, "--", "sh", "-c", 'echo "$GREETING"; cat note')).toBe("hello\nof the image");

  await belljar("template", "share", "app");
  expect(JSON.parse(await belljar("template", "info", "app", "--json"))).toMatchObject({ isShared: true });
  expect(JSON.parse(await belljar("template", "share", "app", "--off", "--json"))).toMatchObject({ isShared: false });
  const snapshot = await belljar("snapshot", "create", id, "--name", "kept");
  expect(await belljar("template", "import", "later", "--snapshot", "kept")).toBe("later");
  await belljar("snapshot", "remove", snapshot);
  await belljar("sandbox", "kill", id);
  expect(await belljar("template", "rm", "app", "later")).toBe("app\nlater");
  expect(await cli.run("template", "list")).toMatchObject({
    code: 0,
    stdout: "",
    stderr: expect.stringContaining("No templates beside `base`"),
  });
  expect(await cli.run("sandbox", "create", "--template", "app")).toMatchObject({ code: 1, stderr: expect.stringContaining("app") });
});

it("says what is wrong with a wish, and makes nothing", async () => {
  await using image = await writeImage();
  await using cli = await openCli("home");
  await writeFile(join(cli.folder, "notes.txt"), "no image");
  await writeFile(join(cli.folder, "cut.tar"), tarOf({ "manifest.json": "[{" }));
  const failures: readonly (readonly [argv: readonly string[], code: number, says: RegExp])[] = [
    [["app"], 2, /from an image, a snapshot, a folder or a Debian suite/],
    [["app", image.path, "--snapshot", "kept"], 2, /name one of them/],
    [["app", "./none"], 1, /IMAGE_NOT_FOUND/],
    [["app", "./notes.txt"], 1, /IMAGE_INVALID/],
    [["app", "./cut.tar"], 1, /IMAGE_INVALID/],
    [["app", "--snapshot", "none"], 1, /SNAPSHOT_NOT_FOUND/],
    [["A b", image.path], 1, /name of a template has 1 to 63 characters/],
    [["base", image.path], 1, /one of Belljar's own/],
    [["app", image.path, "--platform", "plan9"], 1, /operating system and an architecture/],
    [["app", image.path, "--platform", "plan9/mips"], 1, /plan9\/mips/],
  ];
  for (const [argv, code, says] of failures)
    expect(await cli.run("template", "import", ...argv), argv.join(" ")).toMatchObject({
      code,
      stdout: "",
      stderr: expect.stringMatching(says),
    });
  for (const verb of ["info", "share", "remove"])
    expect(await cli.run("template", verb, "none")).toMatchObject({ code: 1, stderr: expect.stringContaining('No template "none"') });
  expect(await cli.belljar("template", "list", "--json")).toBe("[]");
});
