import { expect, it } from "vitest";
import { openToolCaller, textOf } from "../../../support/tool-caller.ts";

type Tools = Awaited<ReturnType<typeof openToolCaller>>;

async function write(tools: Tools, path: string, content: string, more: object = {}): Promise<void> {
  expect(await tools.call("write_file", { path, content, ...more })).not.toHaveProperty("isError");
}

const read = async (tools: Tools, path: string) => (await tools.call("read_file", { path })).value["content"];
const bytes = async (tools: Tools, path: string) => (await tools.call("read_file", { path, encoding: "base64" })).value["content"];
const edit = (tools: Tools, path: string, ...edits: object[]) => tools.call("edit_file", { path, edits });

it("replaces exact text and shows the change", async () => {
  await using tools = await openToolCaller();
  await write(tools, "a.txt", "one\ntwo\nthree\n", { mode: "750" });
  const result = await edit(tools, "a.txt", { old_string: "two", new_string: "2 €" });
  const diff = "--- a/home/user/a.txt\n+++ b/home/user/a.txt\n@@ -1,3 +1,3 @@\n one\n-two\n+2 €\n three\n";
  expect(result.value).toEqual({ path: "/home/user/a.txt", replacements: 1, size: 16, diff, truncated: false });
  expect(textOf(result)).toBe(`Edited /home/user/a.txt: 1 replacement, 16 bytes now\n${diff.trimEnd()}`);
  expect(await read(tools, "a.txt")).toBe("one\n2 €\nthree\n");
  expect((await tools.call("file_info", { path: "a.txt" })).value).toMatchObject({ mode: "0750" });
});

it("makes several edits in their order, each in what the ones before it made", async () => {
  await using tools = await openToolCaller();
  await write(tools, "a", "x = 1; y = 1;");
  const result = await edit(
    tools,
    "a",
    { old_string: "1", new_string: "2", replace_all: true },
    { old_string: "x = 2", new_string: "x = 3" },
    { old_string: "; y = 2;", new_string: "" },
  );
  expect(result.value).toMatchObject({ replacements: 4 });
  expect(await read(tools, "a")).toBe("x = 3");
});

it("changes nothing when one edit of several fails", async () => {
  await using tools = await openToolCaller();
  await write(tools, "a", "one two");
  const result = await edit(tools, "a", { old_string: "one", new_string: "1" }, { old_string: "missing", new_string: "2" });
  expect(result.isError).toBe(true);
  expect(textOf(result)).toMatch(/^EDIT_CONFLICT: Nothing was changed in "a": edits\[1\]\.old_string is not in the file/);
  expect(await read(tools, "a")).toBe("one two");
});

it("says of overlapping edits that they overlap", async () => {
  await using tools = await openToolCaller();
  await write(tools, "a", "one two three");
  const result = await edit(tools, "a", { old_string: "one two", new_string: "1" }, { old_string: "two three", new_string: "2" });
  expect(textOf(result)).toMatch(/edits\[1\].*once the edits before it are made\. They overlap/);
});

it("says where text that is not unique occurs", async () => {
  await using tools = await openToolCaller();
  await write(tools, "a", "x\n\nx\nx\n");
  const result = await edit(tools, "a", { old_string: "x", new_string: "y" });
  expect(textOf(result)).toContain("edits[0].old_string occurs 3 times (lines 1, 3, 4)");
  expect(await read(tools, "a")).toBe("x\n\nx\nx\n");
});

it("shows the nearest text when there is none", async () => {
  await using tools = await openToolCaller();
  await write(tools, "a.py", "import os\n\ndef first():\n    return compute(1)\n\ndef second():\n\treturn compute(2)\n");
  const spaces = await edit(tools, "a.py", { old_string: "def second():\n    return compute(2)", new_string: "" });
  expect(textOf(spaces)).toContain(
    "The same text with other spaces or line ends is at lines 6 to 7:\n     6\tdef second():\n     7\t\treturn compute(2)",
  );
  const typo = await edit(tools, "a.py", { old_string: "return compete(1)", new_string: "" });
  expect(textOf(typo)).toContain("The nearest text is at line 4:\n     4\t    return compute(1)");
  const nothing = await edit(tools, "a.py", { old_string: "zzzz", new_string: "" });
  expect(textOf(nothing)).toContain("and nothing like it");
});

it("keeps CR LF line ends, and takes LF for them", async () => {
  await using tools = await openToolCaller();
  await write(tools, "a", "one\r\ntwo\r\nthree\r\n");
  await edit(tools, "a", { old_string: "one\ntwo\n", new_string: "1\n\n2\n" });
  expect(await read(tools, "a")).toBe("1\r\n\r\n2\r\nthree\r\n");
  await edit(tools, "a", { old_string: "1\r\n", new_string: "" });
  expect(await read(tools, "a")).toBe("\r\n2\r\nthree\r\n");
});

it("keeps a missing newline, a byte order mark and bytes that are no UTF-8", async () => {
  await using tools = await openToolCaller();
  const before = Buffer.from([0xef, 0xbb, 0xbf, 0xff, 0x0a, 0x61, 0xe9]);
  await write(tools, "a", before.toString("base64"), { encoding: "base64" });
  await edit(tools, "a", { old_string: "a", new_string: "€" });
  expect(await bytes(tools, "a")).toBe(Buffer.from([0xef, 0xbb, 0xbf, 0xff, 0x0a, 0xe2, 0x82, 0xac, 0xe9]).toString("base64"));
});

it("edits what a link leads to, and leaves the link", async () => {
  await using tools = await openToolCaller();
  await write(tools, "real", "one");
  await tools.call("run_command", { command: "ln -s real link" });
  await edit(tools, "link", { old_string: "one", new_string: "two" });
  expect(await read(tools, "real")).toBe("two");
  expect((await tools.call("file_info", { path: "link" })).value).toMatchObject({ type: "link", target: "real" });
});

it("loses none of many edits that come at once", async () => {
  await using tools = await openToolCaller();
  const names = Array.from({ length: 20 }, (_value, index) => `<${index}>`);
  await write(tools, "a", names.join("\n"));
  await Promise.all(names.map((name) => edit(tools, "a", { old_string: name, new_string: `${name}!` })));
  expect(await read(tools, "a")).toBe(names.map((name) => `${name}!`).join("\n"));
});

it("cuts a long diff and says so", async () => {
  await using tools = await openToolCaller();
  await tools.call("run_command", { command: "seq 1 50000 > many" });
  const result = await edit(tools, "many", { old_string: "1", new_string: "one", replace_all: true });
  expect(result.value).toMatchObject({ truncated: true });
  expect(textOf(result)).toContain("[The change is too large to show, or is no text: 637680 bytes; read the file]");
});

it("shows no more of a diff than of a file", async () => {
  await using tools = await openToolCaller();
  await tools.call("run_command", { command: "seq 1001 1400 | sed 's/.*/name &&&&&&/' > names" });
  const shown = textOf(await edit(tools, "names", { old_string: "name", new_string: "title", replace_all: true }));
  expect(shown).toMatch(/\n\[The diff is cut here\]$/);
  expect(shown.length).toBeLessThan(17_000);
});

it.each([
  [{ path: "a", edits: [] }, /edits: /],
  [{ path: "a" }, /edits: /],
  [{ path: "a", edits: [{ old_string: "", new_string: "x" }] }, /edits\.0\.old_string: must not be empty/],
  [{ path: "a", edits: [{ old_string: "x", new_string: "x" }] }, /edits\.0\.new_string: is the same/],
  [{ path: "a", edits: [{ old_string: 1, new_string: "x" }] }, /edits\.0\.old_string: /],
  [{ path: "a", edits: "x" }, /edits: /],
  [{ path: "missing", edits: [{ old_string: "x", new_string: "y" }] }, /^FILE_NOT_FOUND: /],
  [{ path: ".", edits: [{ old_string: "x", new_string: "y" }] }, /^FILE_IS_DIRECTORY: /],
  [{ path: "binary", edits: [{ old_string: "x", new_string: "y" }] }, /^FILE_NOT_TEXT: /],
  [{ path: "large", edits: [{ old_string: "x", new_string: "y" }] }, /^FILE_TOO_LARGE: .*sed -i/],
])("edit_file refuses %j", async (args, problem) => {
  await using tools = await openToolCaller();
  await tools.call("run_command", { command: "printf 'x\\0' > binary; truncate -s 50M large" });
  const result = await tools.call("edit_file", args);
  expect(result.isError).toBe(true);
  expect(textOf(result)).toMatch(problem);
});
