import { expect, it } from "vitest";
import { LOCAL } from "../../../../src/sandbox/sandbox.ts";
import { openToolCaller, readRest, textOf } from "../../../support/tool-caller.ts";

type Tools = Awaited<ReturnType<typeof openToolCaller>>;

async function write(tools: Tools, path: string, content: string, more: object = {}): Promise<void> {
  expect(await tools.call("write_file", { path, content, ...more })).not.toHaveProperty("isError");
}

it("reads back exactly what was written", async () => {
  await using tools = await openToolCaller();
  const content = "\ufeffgrüße\r\n\ttab €\n\nno newline at the end";
  const written = await tools.call("write_file", { path: "dir/a.txt", content });
  expect(written.value).toEqual({ path: "/home/user/dir/a.txt", size: Buffer.byteLength(content) });
  expect(textOf(written)).toBe(`Wrote ${Buffer.byteLength(content)} bytes to /home/user/dir/a.txt`);
  const read = await tools.call("read_file", { path: "/home/user/dir/a.txt" });
  expect(read.content).toEqual([{ type: "text", text: content }]);
  expect(read.value).toEqual({
    path: "/home/user/dir/a.txt",
    content,
    encoding: "utf-8",
    size: Buffer.byteLength(content),
    start_line: 1,
    end_line: 4,
    truncated: false,
  });
});

it("reads some lines, with numbers when asked", async () => {
  await using tools = await openToolCaller();
  await write(tools, "a", "one\ntwo\nthree\nfour\n");
  expect(textOf(await tools.call("read_file", { path: "a", start_line: 2, end_line: 3 }))).toBe("two\nthree\n");
  const numbered = await tools.call("read_file", { path: "a", start_line: 3, line_numbers: true });
  expect(textOf(numbered)).toBe("     3\tthree\n     4\tfour\n");
  expect(numbered.value).toMatchObject({ content: "three\nfour\n", start_line: 3, end_line: 4 });
});

it("says that a line is past the file's end", async () => {
  await using tools = await openToolCaller();
  await write(tools, "a", "one\ntwo\n");
  expect(textOf(await tools.call("read_file", { path: "a", start_line: 9 }))).toBe("\n[The file has 2 lines; line 9 is past its end]");
});

it("reads an empty file", async () => {
  await using tools = await openToolCaller();
  await write(tools, "a", "");
  expect(await tools.call("read_file", { path: "a" })).toMatchObject({
    content: [{ text: "" }],
    value: { end_line: 0, truncated: false },
  });
});

it("cuts a long file after a whole line and says where to go on", async () => {
  await using tools = await openToolCaller();
  await tools.call("run_command", { command: "seq 1 100000 > long" });
  const first = await tools.call("read_file", { path: "long" });
  const end = Number(first.value["end_line"]);
  expect(first.value).toMatchObject({ truncated: true, size: 588_895 });
  expect(first.content.at(-1)).toEqual({
    type: "text",
    text: `[Cut after line ${end}; the file has 588895 bytes; read on with read_file {"path":"long","start_line":${end + 1}}]`,
  });
  const next = await tools.call("read_file", { path: "long", start_line: end + 1, end_line: end + 1 });
  expect(textOf(next)).toBe(`${end + 1}\n`);
});

it("reads on as it was asked to read", async () => {
  await using tools = await openToolCaller();
  const { id } = await tools.sandboxes.create(LOCAL, {}, new AbortController().signal);
  await tools.call("write_file", { path: "a", content: "é".repeat(99).concat("\n").repeat(9), sandbox: id });
  const asked = { path: "a", start_line: 2, end_line: 8, line_numbers: true, encoding: "latin1", max_bytes: 400, sandbox: id };
  const text = textOf(await tools.call("read_file", asked));
  const call: unknown = JSON.parse(/; read on with read_file (\{.*\})\]$/.exec(text)?.[1] ?? "");
  expect(call).toEqual({ ...asked, start_line: 4 });
});

it.each([
  ["in the first line", 1, ""],
  ["in a later line", 3, "one\ntwo\n"],
  ["between two characters", 3, "one\ntwo\n1"],
])("names the command that reads on after a cut %s", async (_title, line, before) => {
  await using tools = await openToolCaller();
  const { id } = await tools.sandboxes.create(LOCAL, {}, new AbortController().signal);
  const content = `${before}${"€".repeat(200)}\nlast\n`;
  await tools.call("write_file", { path: "it's", content, sandbox: id });
  const cut = await tools.call("read_file", { path: "it's", start_line: line, max_bytes: 256, sandbox: id });
  const [, args = ""] = /; take other parts with run_command (\{.*\})\]$/.exec(textOf(cut)) ?? [];
  const { command, sandbox } = JSON.parse(args) as { command: string; sandbox: string };
  expect([sandbox, command]).toEqual([id, expect.stringContaining("'/home/user/it'\\''s'")]);
  // The commands of the fake runtime see the host's root.
  const rest = await tools.call("run_command", { command: command.replace("/home/user/", ""), sandbox });
  const above = content.split("\n").slice(0, line - 1);
  expect([...above, `${String(cut.value["content"])}${String(rest.value["stdout"])}`].join("\n")).toBe(content);
});

it.each([
  ["utf-8", undefined],
  ["base64", undefined],
  ["base64", 20_000],
] as const)("names a command whose output is shown whole, of a long line as %s with max_bytes %s", async (encoding, maxBytes) => {
  await using tools = await openToolCaller();
  const { id } = await tools.sandboxes.create(LOCAL, {}, new AbortController().signal);
  const content = "0123456789".repeat(10_000);
  await tools.call("write_file", { path: "a", content, sandbox: id });
  const cut = await tools.call("read_file", { path: "a", encoding, max_bytes: maxBytes, sandbox: id });
  const [, args = ""] = /; take other parts with run_command (\{.*\})\]$/.exec(textOf(cut)) ?? [];
  const { command, ...more } = JSON.parse(args) as { command: string };
  const { value } = await tools.call("run_command", { command: command.replace("/home/user/", ""), ...more });
  expect(value).toMatchObject({ truncated: false, exit_code: 0 });
  const [first, next] = [cut.value["content"], value["stdout"]].map((text) => Buffer.from(String(text), encoding).toString());
  expect(content.startsWith(`${first}${next}`)).toBe(true);
  expect(next?.length).toBeGreaterThan(10_000);
});

it("reads lines from the middle of a huge sparse file", async () => {
  await using tools = await openToolCaller();
  await tools.call("run_command", { command: "printf 'a\\nb\\n' > big; truncate -s 5G big" });
  expect(textOf(await tools.call("read_file", { path: "big", end_line: 2 }))).toBe("a\nb\n");
});

it("carries any bytes as base64 and latin1", async () => {
  await using tools = await openToolCaller();
  const bytes = Buffer.from([0, 255, 10, 128, 65]);
  await write(tools, "bin", bytes.toString("base64"), { encoding: "base64" });
  expect(textOf(await tools.call("read_file", { path: "bin", encoding: "base64" }))).toBe(bytes.toString("base64"));
  expect(textOf(await tools.call("read_file", { path: "bin", encoding: "latin1" }))).toBe(bytes.toString("latin1"));
  await write(tools, "latin", "é", { encoding: "latin1" });
  expect(await tools.call("read_file", { path: "latin", encoding: "base64" })).toMatchObject({
    value: { content: "6Q==", size: 1, start_line: null },
  });
});

it("refuses to show bytes as text that they are not", async () => {
  await using tools = await openToolCaller();
  await write(tools, "bin", "/w==", { encoding: "base64" });
  for (const more of [{ encoding: "utf-8" }, { start_line: 1 }]) {
    const result = await tools.call("read_file", { path: "bin", ...more });
    expect(result.isError).toBe(true);
    expect(textOf(result)).toBe('FILE_NOT_TEXT: "bin" is not UTF-8 text; read it with encoding base64 or latin1');
  }
  const bytes = await tools.call("read_file", { path: "bin" });
  expect(bytes.value).toMatchObject({ content: "", encoding: "base64", size: 1 });
  expect(textOf(bytes)).toMatch(/binary, 1 bytes, not UTF-8 text; it begins with ff; read its bytes with encoding "base64"/);
});

it("gives a file the mode that is asked for", async () => {
  await using tools = await openToolCaller();
  await write(tools, "run.sh", "#!/bin/sh\necho ran\n", { mode: "755" });
  expect(await tools.call("run_command", { command: "./run.sh" })).toMatchObject({ value: { stdout: "ran\n" } });
});

it("lists a folder, and its subfolders as deep as asked", async () => {
  await using tools = await openToolCaller();
  await tools.call("run_command", { command: "mkdir -p p/sub; echo hi > p/b; echo x > p/sub/deep; ln -s b p/link; touch 'p/new\nline'" });
  const flat = await tools.call("list_directory", { path: "p" });
  expect(flat.value).toMatchObject({
    path: "/home/user/p",
    truncated: false,
    entries: [
      { path: "b", type: "file", size: 3, mode: expect.stringMatching(/^0[0-7]{3}$/), modified_at: expect.stringMatching(/^20/) },
      { path: "link", type: "link", target: "b" },
      { path: "new\nline", type: "file" },
      { path: "sub", type: "directory" },
    ],
  });
  expect(textOf(flat).split("\n")).toHaveLength(5);
  expect(textOf(flat)).toContain(" link -> b");
  expect(textOf(flat)).toContain(' "new\\nline"');
  expect(textOf(flat)).toContain(" sub/");
  const deep = await tools.call("list_directory", { path: "p", depth: 2 });
  expect(textOf(deep)).toContain("sub/deep");
});

it("lists the workspace when no folder is named", async () => {
  await using tools = await openToolCaller();
  await write(tools, "here", "");
  expect(textOf(await tools.call("list_directory", {}))).toMatch(/^\/home\/user \(\d+ entries\)\n[\s\S]* here$/m);
});

it.each([
  [undefined, 16_384],
  [1_000, 1_000],
])("shows at most max_bytes (%j) of a listing", async (asked, bytes) => {
  await using tools = await openToolCaller();
  await tools.call("run_command", { command: "mkdir many; cd many; seq -f f%g 1 900 | xargs touch" });
  const text = textOf(await tools.call("list_directory", { path: "many", max_bytes: asked }));
  const rows = text.split("\n").filter((line) => / f\d+$/.test(line));
  const size = Buffer.byteLength(rows.join("\n"));
  expect(size).toBeLessThanOrEqual(bytes);
  expect(size).toBeGreaterThan(bytes - 50);
});

it("bounds a listing and says that there is more", async () => {
  await using tools = await openToolCaller();
  await tools.call("run_command", { command: "mkdir many; cd many; seq -f f%g 1 1500 | xargs touch" });
  const result = await tools.call("list_directory", { path: "many", max_bytes: 262_144 });
  expect(result.value).toMatchObject({ truncated: true, entries: { length: 1_000 } });
  expect(textOf(result)).toContain("(1000 entries, and more that are not shown)");
  const rest = await readRest(tools, result);
  expect(rest).toHaveLength(500);
  expect(rest.at(-1)).toMatch(/ f999$/);
});

it.each([
  ["read_file", { path: "missing" }, /^FILE_NOT_FOUND: /],
  ["read_file", { path: "." }, /^FILE_IS_DIRECTORY: /],
  ["list_directory", { path: "missing" }, /^FILE_NOT_FOUND: /],
  ["read_file", { path: "a", start_line: 3, end_line: 2 }, /end_line: is before start_line/],
  ["read_file", { path: "a", encoding: "base64", start_line: 2 }, /base64 has no lines/],
  ["read_file", { path: "a", encoding: "utf-16" }, /encoding: /],
  ["read_file", { path: "a\0b" }, /path: must not hold a NUL byte/],
  ["write_file", { path: "a", content: "a b", encoding: "base64" }, /content: is not base64/],
  ["write_file", { path: "a", content: "abc", encoding: "base64" }, /content: is not base64/],
  ["write_file", { path: "a", content: "€", encoding: "latin1" }, /content: holds characters that latin1 does not have/],
  ["write_file", { path: "a", content: "", mode: "4755" }, /mode: must be three octal digits/],
  ["write_file", { path: "a", content: "", mode: 755 }, /mode: /],
  ["list_directory", { depth: 0 }, /depth: /],
])("%s refuses %j", async (name, args, problem) => {
  await using tools = await openToolCaller();
  const result = await tools.call(name, args);
  expect(result.isError).toBe(true);
  expect(textOf(result)).toMatch(problem);
});

it("lists neither .git nor what git ignores, unless asked", async () => {
  await using tools = await openToolCaller();
  const command =
    "mkdir r && cd r && git init -q && mkdir -p node_modules/x src && touch node_modules/x/a src/b src/c.log && printf 'node_modules\\n*.log\\n' > .gitignore";
  await tools.call("run_command", { command });
  const paths = async (args: object) => {
    const { entries } = (await tools.call("list_directory", args)).value as { entries: readonly { readonly path: string }[] };
    return entries.map(({ path }) => path);
  };
  expect(await paths({ path: "r", depth: 3 })).toEqual([".gitignore", "src", "src/b"]);
  expect(await paths({ path: "r", include_ignored: true })).toEqual([".git", ".gitignore", "node_modules", "src"]);
  expect(await paths({ path: "r/src", include_ignored: true })).toEqual(["b", "c.log"]);
  expect(await paths({ path: "r/node_modules", depth: 2 })).toEqual(["x", "x/a"]);
});
