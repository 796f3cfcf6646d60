import { expect, it } from "vitest";
import { openToolCaller, readRest, textOf } from "../support/tool-caller.ts";

type Tools = Awaited<ReturnType<typeof openToolCaller>>;

async function write(tools: Tools, files: Readonly<Record<string, string>>): Promise<void> {
  for (const [path, content] of Object.entries(files)) {
    expect(await tools.call("write_file", { path, content })).not.toHaveProperty("isError");
  }
}

it("finds files by a glob at any depth, or below a folder", async () => {
  await using tools = await openToolCaller();
  await write(tools, { "a.ts": "", "src/b.ts": "", "src/deep/c.ts": "", "src/d.js": "", "-x.ts": "" });
  const all = await tools.call("search_files", { pattern: "*.ts" });
  expect(all.value).toEqual({
    path: "/home/user",
    files: ["-x.ts", "a.ts", "src/b.ts", "src/deep/c.ts"],
    truncated: false,
  });
  expect(textOf(all)).toBe('4 files match "*.ts" in /home/user\n-x.ts\na.ts\nsrc/b.ts\nsrc/deep/c.ts');
  const below = (args: object) => tools.call("search_files", args).then(({ value }) => value["files"]);
  expect(await below({ pattern: "src/*.ts" })).toEqual(["src/b.ts"]);
  expect(await below({ pattern: "*.{ts,js}", path: "src" })).toEqual(["src/b.ts", "src/d.js", "src/deep/c.ts"]);
  expect(await below({ pattern: "**/c.ts", path: "/home/user/src" })).toEqual(["/home/user/src/deep/c.ts"]);
  expect(await below({ pattern: "/home/user/src/**/*.ts" })).toEqual(["/home/user/src/b.ts", "/home/user/src/deep/c.ts"]);
  expect(await below({ pattern: "./src/b.ts" })).toEqual(["src/b.ts"]);
  expect(await below({ pattern: "nothing" })).toEqual([]);
});

it("leaves out what .gitignore does, until it is asked for", async () => {
  await using tools = await openToolCaller();
  await write(tools, { ".gitignore": "out/\n", "out/x.js": "needle", "src/x.js": "needle", ".env.js": "needle", ".git/x.js": "needle" });
  const files = async (name: string, args: object) => (await tools.call(name, args)).value["files"];
  expect(await files("search_files", { pattern: "x.js" })).toEqual(["src/x.js"]);
  expect(await files("search_files", { pattern: "x.js", include_ignored: true })).toEqual(["out/x.js", "src/x.js"]);
  const counts = [".env.js", "src/x.js"].map((path) => ({ path, count: 1 }));
  expect(await files("search_content", { pattern: "needle", mode: "files" })).toEqual(counts);
});

it("shows each match with its line, and those around it", async () => {
  await using tools = await openToolCaller();
  await write(tools, { "a.txt": "one\ntwo needle\nthree\nfour\nfive\nsix needle needle\n", "b.txt": "needle\r\nlast" });
  const plain = await tools.call("search_content", { pattern: "needle" });
  expect(plain.value).toEqual({
    mode: "content",
    path: "/home/user",
    matches: [
      { path: "a.txt", line: 2, text: "two needle" },
      { path: "a.txt", line: 6, text: "six needle needle" },
      { path: "b.txt", line: 1, text: "needle" },
    ],
    truncated: false,
  });
  expect(textOf(plain)).toBe("3 lines match\n\na.txt\n2: two needle\n6: six needle needle\n\nb.txt\n1: needle");
  const around = await tools.call("search_content", { pattern: "needle$", context: 1 });
  expect(around.value).toMatchObject({
    matches: [
      { line: 2, before: ["one"], after: ["three"] },
      { line: 6, before: ["five"] },
      { path: "b.txt", line: 1, after: ["last"] },
    ],
  });
  expect(textOf(around)).toBe(
    "3 lines match\n\na.txt\n1- one\n2: two needle\n3- three\n--\n5- five\n6: six needle needle\n\nb.txt\n1: needle\n2- last",
  );
});

it("counts lines and names files", async () => {
  await using tools = await openToolCaller();
  await write(tools, { "a.txt": "x\nx\n", "sub/b.md": "x", "new\nline": "x" });
  const count = await tools.call("search_content", { pattern: "x", mode: "count" });
  const files = [
    { path: "a.txt", count: 2 },
    { path: "new\nline", count: 1 },
    { path: "sub/b.md", count: 1 },
  ];
  expect(count.value).toMatchObject({ mode: "count", files });
  expect(textOf(count)).toBe('3 files have matches\n2\ta.txt\n1\t"new\\nline"\n1\tsub/b.md');
  const one = await tools.call("search_content", { pattern: "x", mode: "files", include: ["*.md", "*.txt"], exclude: "sub" });
  expect(textOf(one)).toBe("1 file has a match\na.txt");
});

it("searches one file, whatever it is called", async () => {
  await using tools = await openToolCaller();
  await write(tools, { "--help": "needle", "sub/-e": "needle" });
  for (const path of ["--help", "sub/-e"]) {
    expect((await tools.call("search_content", { pattern: "needle", path })).value).toMatchObject({
      matches: [{ path, line: 1 }],
    });
  }
});

it("takes patterns as they are", async () => {
  await using tools = await openToolCaller();
  await write(tools, { a: "-v (x) A.B\n" });
  const found = async (args: object) => (await tools.call("search_content", args)).value["matches"];
  expect(await found({ pattern: "-v" })).toHaveLength(1);
  expect(await found({ pattern: "(x)", literal: true })).toHaveLength(1);
  expect(await found({ pattern: "(x) a" })).toHaveLength(0);
  expect(await found({ pattern: "\\(x\\) a", ignore_case: true })).toHaveLength(1);
  expect(await found({ pattern: "A.B$" })).toHaveLength(1);
});

it("bounds long lines, long records and long results, and says so", async () => {
  await using tools = await openToolCaller();
  await tools.call("run_command", {
    command:
      "head -c 3000 /dev/zero | tr '\\0' x > long; echo needle >> long; head -c 2000000 /dev/zero | tr '\\0' y > huge; echo needle >> huge; yes needle | head -100000 > many",
  });
  const long = await tools.call("search_content", { pattern: "needle", path: "long" });
  expect(long.value).toMatchObject({
    matches: [{ line: 1, text: expect.stringMatching(/^\.\.\.x{100}needle$/) }],
    truncated: false,
  });
  const huge = await tools.call("search_content", { pattern: "needle", path: "huge" });
  expect(textOf(huge)).toContain("[1 matches on lines of more than 1048576 bytes are not shown]");
  const many = await tools.call("search_content", { pattern: "needle", path: "many" });
  expect(many.value).toMatchObject({ truncated: true, matches: { length: 200 } });
  expect(textOf(many)).toMatch(/^At least 4000 lines match; the first 200:\n/);
  expect(textOf(many)).toMatch(
    /\n\[3800 more lines: read on with read_result \{"uri":"\S+\?offset=\d+"\}\. There are still more; search a smaller/,
  );
  expect(await readRest(tools, many)).toEqual(Array.from({ length: 3_800 }, (_, index) => `${index + 201}: needle`));
  const more = await tools.call("search_content", { pattern: "needle", path: "many", limit: 300 });
  expect(more.value).toMatchObject({ matches: { length: 300 } });
});

it("keeps what it does not show of other searches too", async () => {
  await using tools = await openToolCaller();
  await tools.call("run_command", { command: "mkdir src; cd src; for i in $(seq 100 130); do echo 'log(1);' > $i.ts; done" });
  for (const mode of ["files", "count"]) {
    const found = await tools.call("search_content", { pattern: "log", mode, limit: 30 });
    expect(found.value).toMatchObject({ truncated: true, files: { length: 30 } });
    expect(textOf(found)).toMatch(/^31 files have matches; the first 30:\n/);
    expect(await readRest(tools, found)).toEqual([`${mode === "count" ? "1\t" : ""}src/130.ts`]);
  }
  const code = await tools.call("search_code", { pattern: "log($A)", limit: 30 });
  expect(code.value).toMatchObject({ truncated: true, matches: { length: 30 } });
  expect(textOf(code)).toMatch(/^31 places match; the first 30:\n/);
  expect(await readRest(tools, code)).toEqual(["", "src/130.ts:1 (column 1)", "log(1)"]);
});

it("bounds the list of files", async () => {
  await using tools = await openToolCaller();
  await tools.call("run_command", { command: "mkdir many; cd many; seq -f f%g 1 1500 | xargs touch" });
  const result = await tools.call("search_files", { pattern: "f*" });
  expect(result.value).toMatchObject({ truncated: true, files: { length: 1_000 } });
  expect(textOf(result)).toMatch(/^1500 files match "f\*" in \/home\/user; the first 1000:\n/);
  const rest = await readRest(tools, result);
  expect(rest).toHaveLength(500);
  expect(rest.at(-1)).toBe("many/f999");
});

it("passes over binary files, and reads what is no UTF-8", async () => {
  await using tools = await openToolCaller();
  await tools.call("run_command", { command: "printf 'needle\\0' > bin; printf 'needle \\377\\n' > latin" });
  expect((await tools.call("search_content", { pattern: "needle" })).value).toMatchObject({
    matches: [{ path: "latin", text: "needle \ufffd" }],
  });
});

it("finds code by its structure", async () => {
  await using tools = await openToolCaller();
  await write(tools, {
    "a.ts": "// log(1)\nfoo.log(\n  1,\n  'é');\n",
    "b.py": "def f(x):\n    return log(x)\n",
  });
  const calls = await tools.call("search_code", { pattern: "foo.log($$$ARGS)" });
  expect(calls.value).toEqual({
    path: "/home/user",
    matches: [{ path: "a.ts", line: 2, end_line: 4, column: 1, text: "foo.log(\n  1,\n  'é')" }],
    truncated: false,
  });
  expect(textOf(calls)).toBe("1 place matches\n\na.ts:2-4 (column 1)\nfoo.log(\n  1,\n  'é')");
  const python = await tools.call("search_code", { pattern: "log($X)", lang: "python" });
  expect(python.value).toMatchObject({ matches: [{ path: "b.py", line: 2 }] });
  expect((await tools.call("search_code", { pattern: "nothing($X)" })).value).toMatchObject({ matches: [] });
});

it.each([
  ["search_files", {}, /pattern: /],
  ["search_files", { pattern: "" }, /pattern: /],
  ["search_files", { pattern: "!x" }, /pattern: must not start with !/],
  ["search_files", { pattern: "a{b" }, /^ARGUMENTS_INVALID: The search could not be made:/],
  ["search_files", { pattern: "*", path: "missing" }, /^FILE_NOT_FOUND: /],
  ["search_content", { pattern: "(" }, /^ARGUMENTS_INVALID: The search could not be made:[\s\S]*unclosed group/],
  ["search_content", { pattern: "x", path: "missing" }, /^FILE_NOT_FOUND: /],
  ["search_content", { pattern: "x", mode: "lines" }, /mode: /],
  ["search_content", { pattern: "x", context: 1_000 }, /context: /],
  ["search_content", { pattern: "x\0" }, /pattern: must not hold a NUL byte/],
  ["search_content", { pattern: 5 }, /pattern: /],
  ["search_content", { pattern: "x", include: "!a" }, /include: /],
  ["search_code", { pattern: "x", language: "klingon" }, /^ARGUMENTS_INVALID: The search could not be made:[\s\S]*klingon/],
  ["search_code", { pattern: "x", language: "-l" }, /language: must be a language's name/],
])("%s refuses %j", async (name, args, problem) => {
  await using tools = await openToolCaller();
  const result = await tools.call(name, args);
  expect(result.isError).toBe(true);
  expect(textOf(result)).toMatch(problem);
});
