import { expect, it } from "vitest";
import { openToolCaller, textOf } from "../../support/tool-caller.ts";

it("takes a file's arguments by the names that other hosts' tools have", async () => {
  await using tools = await openToolCaller();
  const call = async (name: string, args: object) => textOf(await tools.call(name, args));
  expect(await call("write_file", { file_path: "a", contents: "one\ntwo\nthree\nfour\n" })).toMatch(/^Wrote 19 bytes/);
  expect(await call("read_file", { file_path: "a", offset: "2", limit: 2 })).toBe("two\nthree\n");
  expect(await call("read_file", { path: "a", offset: null, limit: 1, encoding: "", line_numbers: "true" })).toBe("     1\tone\n");
  expect(await call("edit_file", { file_path: "a", old_string: "two", new_string: "2" })).toContain("1 replacement");
  expect(await call("edit_file", { path: "a", old_str: "e\n", new_str: "E\n", replace_all: "true" })).toContain("2 replacements");
  expect(await call("edit_file", { path: "a", old_string: "four\n", new_string: "" })).toContain("1 replacement");
  expect(await call("read_file", { absolute_path: "/home/user/a" })).toBe("onE\n2\nthreE\n");
  expect(await call("search_content", { query: "thr", glob: "a" })).toContain("3: threE");
  expect(await call("search_files", { query: "a*", directory: "." })).toContain("1 file matches");
  expect(await call("move_file", { from: "a", to: "b" })).toContain("Moved");
});

it("takes a command's arguments by other names, and variables as an object or a list", async () => {
  await using tools = await openToolCaller();
  const call = async (name: string, args: object) => textOf(await tools.call(name, args));
  expect(await call("run_command", { cmd: "pwd", workdir: "/tmp", timeout_ms: "5000", env: null })).toMatch(/^[^\n]*\/tmp\n/);
  expect(await call("run_command", { command: 'echo "$A|$B"', env: { A: "1 2", B: "x=y" } })).toMatch(/^1 2\|x=y\n/);
  expect(await call("run_command", { command: 'echo "$A|$B"', env: ["A=1 2", "B=x=y"] })).toMatch(/^1 2\|x=y\n/);
  expect(await call("execute_code", { language: "bash", code: "echo $((6 * 7))", snippet_name: "" })).toContain("42\n");
});

it.each([{}, { new_string: null }])("removes no text that a flat edit of %j gives nothing for", async (after) => {
  await using tools = await openToolCaller();
  await tools.call("write_file", { path: "a", content: "one\n" });
  const result = await tools.call("edit_file", { path: "a", old_string: "one", ...after });
  expect(textOf(result)).toMatch(/^ARGUMENTS_INVALID: .*edits\.0\.new_string: /s);
  expect(textOf(await tools.call("read_file", { path: "a" }))).toBe("one\n");
});

it.each(["run_command", "shell_run"])("%s refuses a time limit without its unit", async (name) => {
  await using tools = await openToolCaller();
  const result = await tools.call(name, { command: "echo ran", timeout: 60 });
  expect(textOf(result)).toMatch(/^ARGUMENTS_INVALID: .*"timeout"/s);
});
