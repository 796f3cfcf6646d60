import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { configureLanguages } from "./configured-languages.ts";
import { loadSnippet } from "./snippets.ts";

async function openFolder() {
  const root = await mkdtemp(join(tmpdir(), "belljar-snippets-"));
  const folder = join(root, "snippets");
  await mkdir(folder);
  return { root, folder, [Symbol.asyncDispose]: () => rm(root, { recursive: true }) };
}

it("finds the language by the file's extension", async () => {
  await using place = await openFolder();
  await writeFile(join(place.folder, "hello_world.py"), "print('hi')");
  expect(await loadSnippet(place.folder, "hello_world")).toEqual({ language: "python", fileName: "hello_world.py", code: "print('hi')" });
});

it("finds the snippets of configured languages too", async () => {
  await using place = await openFolder();
  await writeFile(join(place.folder, "hello.lua"), "print('hi')");
  const languages = configureLanguages({ lua: { command: ["lua"], extension: ".lua" } });
  expect(await loadSnippet(place.folder, "hello", languages)).toEqual({ language: "lua", fileName: "hello.lua", code: "print('hi')" });
  await expect(loadSnippet(place.folder, "hello")).rejects.toMatchObject({ code: "SNIPPET_NOT_FOUND" });
});

it("lists the existing snippets if the name is unknown", async () => {
  await using place = await openFolder();
  await writeFile(join(place.folder, "a.py"), "");
  await writeFile(join(place.folder, "b.js"), "");
  await writeFile(join(place.folder, "notes.txt"), "");
  const failure = { code: "SNIPPET_NOT_FOUND", message: 'No snippet "c"; there are: a, b' };
  await expect(loadSnippet(place.folder, "c")).rejects.toMatchObject(failure);
});

it.each(["../secret", "a/b", "/etc/passwd", ".hidden", "", "x\0y", "..", "x".repeat(101)])("refuses the name %j", async (name) => {
  await using place = await openFolder();
  await writeFile(join(place.root, "secret.py"), "secret");
  await expect(loadSnippet(place.folder, name)).rejects.toMatchObject({ code: "ARGUMENTS_INVALID" });
});

it("refuses a link that leads out of the folder", async () => {
  await using place = await openFolder();
  await writeFile(join(place.root, "secret.py"), "secret");
  await symlink("../secret.py", join(place.folder, "innocent.py"));
  await expect(loadSnippet(place.folder, "innocent")).rejects.toMatchObject({ code: "FORBIDDEN" });
});

it("follows a link that stays in the folder", async () => {
  await using place = await openFolder();
  await writeFile(join(place.folder, "one.py"), "1");
  await symlink("one.py", join(place.folder, "two.py"));
  expect(await loadSnippet(place.folder, "two")).toMatchObject({ code: "1" });
});

it("refuses a name that stands for two files", async () => {
  await using place = await openFolder();
  await writeFile(join(place.folder, "a.py"), "");
  await writeFile(join(place.folder, "a.js"), "");
  await expect(loadSnippet(place.folder, "a")).rejects.toMatchObject({
    code: "ARGUMENTS_INVALID",
    message: expect.stringContaining("a.js, a.py"),
  });
});

it("refuses a folder, and a file that is too large", async () => {
  await using place = await openFolder();
  await mkdir(join(place.folder, "dir.py"));
  await writeFile(join(place.folder, "big.py"), Buffer.alloc(1_048_577));
  await expect(loadSnippet(place.folder, "dir")).rejects.toMatchObject({ code: "SNIPPET_NOT_FOUND" });
  await expect(loadSnippet(place.folder, "big")).rejects.toMatchObject({ code: "FILE_TOO_LARGE" });
});

it("reports that the folder cannot be read", async () => {
  await expect(loadSnippet("/nonexistent/snippets", "a")).rejects.toMatchObject({ code: "SNIPPET_NOT_FOUND" });
});

it("reports that a snippet cannot be read", async () => {
  await using place = await openFolder();
  await symlink("gone.py", join(place.folder, "dangling.py"));
  await expect(loadSnippet(place.folder, "dangling")).rejects.toMatchObject({ code: "SNIPPET_NOT_FOUND" });
});
