import { expect, it } from "vitest";
import { openToolCaller, textOf } from "../../../support/tool-caller.ts";

it("makes folders, and says when they were there", async () => {
  await using tools = await openToolCaller();
  const first = await tools.call("create_directory", { path: "a/b/c" });
  expect(first.value).toEqual({ path: "/home/user/a/b/c", created: true });
  const again = await tools.call("create_directory", { path: "a/b/c" });
  expect(again.value).toEqual({ path: "/home/user/a/b/c", created: false });
  await tools.call("write_file", { path: "file", content: "" });
  expect((await tools.call("create_directory", { path: "file" })).isError).toBe(true);
});

it("moves files and folders, and replaces only when it is told to", async () => {
  await using tools = await openToolCaller();
  await tools.call("write_file", { path: "a", content: "A" });
  await tools.call("write_file", { path: "b", content: "B" });
  const moved = await tools.call("move_file", { source: "a", destination: "new/folder/a" });
  expect(moved.value).toEqual({ source: "/home/user/a", destination: "/home/user/new/folder/a" });
  expect(textOf(await tools.call("move_file", { source: "b", destination: "new/folder/a" }))).toMatch(/^FILE_EXISTS: /);
  await tools.call("move_file", { source: "b", destination: "new/folder/a", overwrite: true });
  expect(textOf(await tools.call("read_file", { path: "new/folder/a" }))).toBe("B");
  await tools.call("move_file", { source: "new", destination: "other" });
  expect(textOf(await tools.call("read_file", { path: "other/folder/a" }))).toBe("B");
});

it("deletes files, links and folders", async () => {
  await using tools = await openToolCaller();
  await tools.call("run_command", { command: "echo x > file; ln -s file link; mkdir empty; mkdir -p full/sub; echo y > full/sub/y" });
  const gone = async (path: string, more: object = {}) => (await tools.call("delete_file", { path, ...more })).value;
  expect(await gone("link")).toEqual({ path: "/home/user/link", type: "link", undo_problem: "only files are kept" });
  expect(await gone("file")).toEqual({ path: "/home/user/file", type: "file" });
  expect(await gone("empty")).toMatchObject({ type: "directory" });
  expect(textOf(await tools.call("delete_file", { path: "full" }))).toMatch(/^DIRECTORY_NOT_EMPTY: .*set recursive/);
  expect(await gone("full", { recursive: true })).toMatchObject({ type: "directory" });
  expect((await tools.call("search_files", { pattern: "y" })).value).toMatchObject({ files: [] });
});

it("describes a file, a link and a folder", async () => {
  await using tools = await openToolCaller();
  await tools.call("run_command", { command: "echo hi > file; chmod 640 file; ln -s file link; ln -s nowhere dangling" });
  const info = async (path: string) => (await tools.call("file_info", { path })).value;
  expect(await info("file")).toMatchObject({ path: "/home/user/file", type: "file", size: 3, mode: "0640", links: 1 });
  expect(await info("link")).toMatchObject({ type: "link", target: "file", resolved: "/home/user/file" });
  expect(await info("dangling")).not.toHaveProperty("resolved");
  expect(textOf(await tools.call("file_info", { path: "." }))).toMatch(/^\{"path":"\/home\/user","type":"directory","size":/);
});

it("lists a tree, each folder before what it holds, without what is ignored", async () => {
  await using tools = await openToolCaller();
  await tools.call("run_command", {
    command:
      "mkdir -p p/sub/deep p/sub-x p/node_modules/m p/build; touch p/sub/deep/a.ts p/sub-x/b p/node_modules/m/i.js p/build/o.pyc p/z.pyc",
  });
  const paths = async (args: object) => {
    const { value } = await tools.call("list_directory", { path: "p", depth: 9, ...args });
    return (value["entries"] as { path: string }[]).map(({ path }) => path);
  };
  expect(await paths({ ignore: ["node_modules", "*.pyc"] })).toEqual(["build", "sub", "sub/deep", "sub/deep/a.ts", "sub-x", "sub-x/b"]);
  expect(await paths({ ignore: ["sub/**", "node_modules", "build/"] })).toEqual(["sub", "sub-x", "sub-x/b", "z.pyc"]);
  expect((await tools.call("list_directory", { ignore: ["{a,b}".repeat(9)] })).isError).toBe(true);
});

it.each([
  ["create_directory", { path: "" }, /path: /],
  ["move_file", { source: "missing", destination: "x" }, /^FILE_NOT_FOUND: /],
  ["move_file", { source: "a" }, /destination: /],
  ["move_file", { source: "a", destination: "a" }, /^PATH_INVALID: /],
  ["move_file", { source: ".", destination: "sub/b" }, /^PATH_INVALID: /],
  ["delete_file", { path: "missing" }, /^FILE_NOT_FOUND: /],
  ["delete_file", { path: "/", recursive: true }, /^PATH_INVALID: /],
  ["delete_file", { path: "sub/..", recursive: true }, /^PATH_INVALID: /],
  ["delete_file", { path: "a", recursive: "yes" }, /recursive: /],
  ["file_info", { path: "missing" }, /^FILE_NOT_FOUND: /],
  ["file_info", { path: "a\0" }, /path: must not hold a NUL byte/],
  ["undo_edit", { path: "never" }, /^UNDO_NOT_FOUND: /],
  ["undo_edit", {}, /path: /],
])("%s refuses %j", async (name, args, problem) => {
  await using tools = await openToolCaller();
  const result = await tools.call(name, args);
  expect(result.isError).toBe(true);
  expect(textOf(result)).toMatch(problem);
});

it("leaves nothing where a folder was to move into itself", async () => {
  await using tools = await openToolCaller();
  await tools.call("create_directory", { path: "a" });
  await tools.call("move_file", { source: "a", destination: "a/b/c" });
  expect((await tools.call("list_directory", { path: "a" })).value).toMatchObject({ entries: [] });
});
