import { expect, it } from "vitest";
import { openToolCaller, textOf } from "../../../support/tool-caller.ts";

type Tools = Awaited<ReturnType<typeof openToolCaller>>;

const write = (tools: Tools, path: string, content: string, more: object = {}) => tools.call("write_file", { path, content, ...more });
const read = async (tools: Tools, path: string) => (await tools.call("read_file", { path })).value["content"];
const undo = (tools: Tools, path: string, more: object = {}) => tools.call("undo_edit", { path, ...more });

it("takes back edits, writes and the making of a file, one by one", async () => {
  await using tools = await openToolCaller();
  await write(tools, "a", "one\n");
  await write(tools, "/home/user/a", "two\n", { mode: "755" });
  await tools.call("edit_file", { path: "./a", edits: [{ old_string: "two", new_string: "three" }] });
  const first = await undo(tools, "a");
  expect(first.value).toMatchObject({ path: "/home/user/a", existed: true, levels_left: 2 });
  expect(textOf(first)).toContain("-three\n+two");
  expect(await read(tools, "a")).toBe("two\n");
  expect((await undo(tools, "a")).value).toMatchObject({ levels_left: 1 });
  expect(await read(tools, "a")).toBe("one\n");
  expect((await tools.call("file_info", { path: "a" })).value).toMatchObject({ mode: "0644" });
  expect((await undo(tools, "a")).value).toMatchObject({ existed: false, levels_left: 0 });
  expect(textOf(await tools.call("read_file", { path: "a" }))).toMatch(/^FILE_NOT_FOUND: /);
  expect(textOf(await undo(tools, "a"))).toMatch(/^UNDO_NOT_FOUND: /);
});

it("brings back a deleted file", async () => {
  await using tools = await openToolCaller();
  await write(tools, "a", "gone\n", { mode: "700" });
  await tools.call("delete_file", { path: "a" });
  await undo(tools, "a");
  expect(await read(tools, "a")).toBe("gone\n");
  expect((await tools.call("file_info", { path: "a" })).value).toMatchObject({ mode: "0700" });
});

it("takes back what a patch did to each file", async () => {
  await using tools = await openToolCaller();
  await write(tools, "a", "one\n");
  const patch = "*** Begin Patch\n*** Update File: a\n*** Move to: b\n-one\n+two\n*** End Patch";
  await tools.call("apply_patch", { patch });
  await undo(tools, "b");
  await undo(tools, "a");
  expect(await read(tools, "a")).toBe("one\n");
  expect(textOf(await tools.call("read_file", { path: "b" }))).toMatch(/^FILE_NOT_FOUND: /);
});

it("keeps ten levels of a file", async () => {
  await using tools = await openToolCaller();
  for (let version = 0; version < 15; version += 1) await write(tools, "a", `${version}`);
  for (let left = 9; left >= 0; left -= 1) expect((await undo(tools, "a")).value).toMatchObject({ levels_left: left });
  expect(await read(tools, "a")).toBe("4");
  expect((await undo(tools, "a")).isError).toBe(true);
});

it("does not undo over what a command changed, until it is told to", async () => {
  await using tools = await openToolCaller();
  await write(tools, "a", "one\n");
  await write(tools, "a", "two\n");
  await tools.call("run_command", { command: "echo mine > a" });
  expect(textOf(await undo(tools, "a"))).toMatch(/^EDIT_CONFLICT: .*set force/);
  expect(await read(tools, "a")).toBe("mine\n");
  expect((await undo(tools, "a", { force: true })).value).toMatchObject({ levels_left: 1 });
  expect(await read(tools, "a")).toBe("one\n");
});

it("passes over a level whose write never came", async () => {
  await using tools = await openToolCaller();
  await write(tools, "a", "one\n");
  await write(tools, "a", "two\n");
  await write(tools, "a", "three\n");
  await tools.call("run_command", { command: "printf 'two\\n' > a" });
  expect((await undo(tools, "a")).value).toMatchObject({ levels_left: 1 });
  expect(await read(tools, "a")).toBe("one\n");
});

it("keeps no level of a write that fails or changes nothing", async () => {
  await using tools = await openToolCaller();
  await write(tools, "a", "one\n");
  await write(tools, "a", "one\n");
  await write(tools, "a/b", "x");
  expect(textOf(await undo(tools, "a/b"))).not.toContain("is gone");
  expect((await undo(tools, "a")).value).toMatchObject({ existed: false, levels_left: 0 });
});

it("writes over a file that is too large to keep, and says that this cannot be undone", async () => {
  await using tools = await openToolCaller();
  await tools.call("run_command", { command: "truncate -s 50M large" });
  const result = await write(tools, "large", "small");
  expect(result.value).toMatchObject({ size: 5, undo_problem: "the old file is larger than 8388608 bytes" });
  expect(textOf(result)).toContain("[undo_edit cannot take this back: ");
});

it("drops the oldest levels when all of them together are large", async () => {
  await using tools = await openToolCaller();
  await tools.call("run_command", { command: "for i in 1 2 3 4 5 6 7 8 9 10; do head -c 8000000 /dev/zero | tr '\\0' a > f$i; done" });
  for (let index = 1; index <= 10; index += 1) await write(tools, `f${index}`, "small");
  expect(textOf(await undo(tools, "f1"))).toMatch(/^UNDO_NOT_FOUND: /);
  expect((await undo(tools, "f10")).value).toMatchObject({ existed: true });
});
