import { expect, it } from "vitest";
import { openToolCaller, textOf } from "../../../support/tool-caller.ts";

type Tools = Awaited<ReturnType<typeof openToolCaller>>;

async function write(tools: Tools, files: Readonly<Record<string, string>>): Promise<void> {
  for (const [path, content] of Object.entries(files)) {
    expect(await tools.call("write_file", { path, content })).not.toHaveProperty("isError");
  }
}

const read = async (tools: Tools, path: string) => (await tools.call("read_file", { path })).value["content"];
const apply = (tools: Tools, ...lines: string[]) => tools.call("apply_patch", { patch: `${lines.join("\n")}\n` });

it("applies what git diff prints", async () => {
  await using tools = await openToolCaller();
  await tools.call("run_command", {
    command: [
      "git init -q; git config user.email a@b; git config user.name n",
      "seq 1 40 > 'a b'; echo old > gone; printf 'x' > open; seq 1 9 > before; echo é > 'tab\té'; git add .; git commit -qm one",
      "sed -i 's/^3$/three/; s/^38$/38\\n38.5/' 'a b'; rm gone; printf 'y\\n' > open; git mv before after; sed -i 's/5/five/' after",
      "printf 'n\\n\\nw' > new; chmod +x new; echo è > 'tab\té'; : > empty; git add -A; git diff --cached HEAD > ../p; git reset -q --hard; rm -f new empty",
    ].join("\n"),
  });
  const patch = await read(tools, "../p");
  const result = await tools.call("apply_patch", { patch });
  expect(result.value).toEqual({
    files: [
      { path: "/home/user/a b", status: "modified", size: 120 },
      { path: "/home/user/before", status: "deleted", size: null },
      { path: "/home/user/after", status: "added", size: 21 },
      { path: "/home/user/empty", status: "added", size: 0 },
      { path: "/home/user/gone", status: "deleted", size: null },
      { path: "/home/user/new", status: "added", size: 4 },
      { path: "/home/user/open", status: "modified", size: 2 },
      { path: "/home/user/tab\té", status: "modified", size: 3 },
    ],
  });
  expect(textOf(result)).toContain("The patch is applied; files: 8\nmodified /home/user/a b (120 bytes now)\ndeleted /home/user/before\n");
  const same = await tools.call("run_command", { command: "git add -A; git diff --cached HEAD | cmp - ../p && echo same" });
  expect(same.value).toMatchObject({ stdout: "same\n" });
});

it("applies the other grammar: add, update, move and delete", async () => {
  await using tools = await openToolCaller();
  await write(tools, {
    "src/a.py": "class A:\n    def f(self):\n        return 1\n\nclass B:\n    def f(self):\n        return 1\n",
    old: "x\n",
    "m.txt": "m\n",
  });
  const result = await apply(
    tools,
    "*** Begin Patch",
    "*** Update File: src/a.py",
    "@@ class B:",
    "@@ def f(self):",
    "-        return 1",
    "+        return 2",
    "*** Add File: src/new/b.py",
    "+first",
    "+",
    "*** Delete File: old",
    "*** Update File: m.txt",
    "*** Move to: moved/m.txt",
    "@@",
    " m",
    "+n",
    "*** End of File",
    "*** End Patch",
  );
  expect(result.isError).toBeUndefined();
  expect(await read(tools, "src/a.py")).toBe(
    "class A:\n    def f(self):\n        return 1\n\nclass B:\n    def f(self):\n        return 2\n",
  );
  expect(await read(tools, "src/new/b.py")).toBe("first\n\n");
  expect(await read(tools, "moved/m.txt")).toBe("m\nn\n");
  for (const path of ["old", "m.txt"]) expect(textOf(await tools.call("read_file", { path }))).toMatch(/^FILE_NOT_FOUND: /);
});

it("finds hunks that are elsewhere, miscounted, or differ in spaces at the ends of lines", async () => {
  await using tools = await openToolCaller();
  await write(tools, { a: "0\n0\n0\n0\none  \ntwo\nthree\n", b: "x\n\ny\n" });
  const result = await apply(
    tools,
    "--- a",
    "+++ a",
    "@@ -1,9 +1,1 @@",
    " one",
    "-two",
    "+2",
    " three",
    "",
    "--- b",
    "+++ b",
    "@@ ... @@",
    " x",
    "",
    "-y",
    "+z",
  );
  expect(result.isError).toBeUndefined();
  expect(await read(tools, "a")).toBe("0\n0\n0\n0\none  \n2\nthree\n");
  expect(await read(tools, "b")).toBe("x\n\nz\n");
});

it("takes the place that is nearest to a hunk's line number", async () => {
  await using tools = await openToolCaller();
  await write(tools, { a: "x\n1\nx\n2\nx\n3\nx\n" });
  await apply(tools, "--- a/a", "+++ b/a", "@@ -5,1 +5,1 @@", "-x", "+X");
  expect(await read(tools, "a")).toBe("x\n1\nx\n2\nX\n3\nx\n");
});

it("keeps CR LF and a missing newline at the end", async () => {
  await using tools = await openToolCaller();
  await write(tools, { crlf: "one\r\ntwo\r\n", open: "one\ntwo" });
  await apply(
    tools,
    "--- crlf",
    "+++ crlf",
    "@@ -1,2 +1,3 @@",
    " one",
    "+1.5",
    " two",
    "--- open",
    "+++ open",
    "@@ -1,2 +1,2 @@",
    "-one",
    "+1",
    " two",
  );
  expect(await read(tools, "crlf")).toBe("one\r\n1.5\r\ntwo\r\n");
  expect(await read(tools, "open")).toBe("1\ntwo");
});

it("keeps bytes that are no UTF-8", async () => {
  await using tools = await openToolCaller();
  await tools.call("write_file", { path: "a", content: Buffer.from([0xff, 0x0a, 0x61, 0x0a]).toString("base64"), encoding: "base64" });
  await apply(tools, "--- a", "+++ a", "@@ -2,1 +2,1 @@", "-a", "+é");
  expect((await tools.call("read_file", { path: "a", encoding: "base64" })).value).toMatchObject({
    content: Buffer.from([0xff, 0x0a, 0xc3, 0xa9, 0x0a]).toString("base64"),
  });
});

it("starts relative paths where it is told to", async () => {
  await using tools = await openToolCaller();
  await write(tools, { "sub/a": "1\n" });
  const patch = "--- a/a\n+++ b/a\n@@ -1 +1 @@\n-1\n+2\n";
  expect((await tools.call("apply_patch", { patch, cwd: "sub" })).value).toMatchObject({
    files: [{ path: "/home/user/sub/a" }],
  });
});

it("changes nothing when one part does not fit, and says which and where the nearest lines are", async () => {
  await using tools = await openToolCaller();
  await write(tools, { a: "one\n", b: "the second line\n", c: "kept\n" });
  const result = await apply(
    tools,
    "*** Begin Patch",
    "*** Update File: a",
    "-one",
    "+1",
    "*** Add File: c",
    "+new",
    "*** Update File: b",
    "-the second lime",
    "+2",
    "*** Delete File: missing",
    "*** End Patch",
  );
  expect(result.isError).toBe(true);
  const text = textOf(result);
  expect(text).toMatch(/^EDIT_CONFLICT: The patch does not apply, and nothing was changed:\n/);
  expect(text).toContain('- "c": the file is there already');
  expect(text).toContain('- "b": the hunk "-the second lime" does not fit; the nearest text is at line 1:\n     1\tthe second line');
  expect(text).toContain('- "missing": there is no such file');
  expect(await read(tools, "a")).toBe("one\n");
  expect(await read(tools, "c")).toBe("kept\n");
});

it("takes back what was written when a later file cannot be", async () => {
  await using tools = await openToolCaller();
  await write(tools, { a: "one\n", "z/file": "x\n" });
  const result = await apply(
    tools,
    "*** Begin Patch",
    "*** Update File: a",
    "-one",
    "+two",
    "*** Add File: a/impossible",
    "+x",
    "*** End Patch",
  );
  expect(result.isError).toBe(true);
  expect(await read(tools, "a")).toBe("one\n");
  expect((await tools.call("undo_edit", { path: "a" })).value).toMatchObject({ existed: false, levels_left: 0 });
});

it.each([
  ["nothing", /line 1 starts no patch/],
  ["*** Begin Patch\n*** End Patch", /line 2 ends the patch before any file/],
  ["*** Begin Patch\n*** Update File: a\n-x\n+y", /line 4 is the last, and "\*\*\* End Patch" is missing/],
  ["*** Begin Patch\n*** Update File: a\n*** End Patch", /before any change/],
  ["*** Begin Patch\n*** Rename File: a\n*** End Patch", /line 2 should be/],
  ["*** Begin Patch\n*** Update File: a\nx\n*** End Patch", /line 3 should be a line that starts with/],
  ["@@ -1 +1 @@\n-a\n+b\n", /line 1 starts a hunk of no file/],
  ["--- a\n+++ b\n@@ -1 +1 @@\n", /line 3 starts a hunk that has no lines/],
  ["diff --git a/x b/x\nGIT binary patch\nliteral 1\n", /line 2 changes binary content/],
  [
    "diff --git a/x b/x\nnew file mode 120000\n--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+a\n",
    /line 2 makes something that is no ordinary file/,
  ],
])("refuses %j", async (patch, problem) => {
  await using tools = await openToolCaller();
  const result = await tools.call("apply_patch", { patch });
  expect(textOf(result)).toMatch(/^ARGUMENTS_INVALID: /);
  expect(textOf(result)).toMatch(problem);
});
