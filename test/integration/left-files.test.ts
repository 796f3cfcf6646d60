import { expect, it } from "vitest";
import { openToolCaller, textOf } from "../support/tool-caller.ts";
import { LOCAL } from "../../src/sandbox/sandbox.ts";

const PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==";

const python = (code: string, rest: object = {}) => ({ language: "python", entrypoint_code: code, ...rest });

it("shows the pictures and short texts that a program leaves, and names the rest", async () => {
  await using tools = await openToolCaller();
  const code = [
    "import base64, os",
    `open('plot.png', 'wb').write(base64.b64decode('${PNG}'))`,
    "os.mkdir('out'); open('out/table.csv', 'w').write('a,b\\n1,2')",
    "open('raw.bin', 'wb').write(bytes(range(256)))",
    "open('long.txt', 'w').write('x' * 20000)",
    "open('.hidden', 'w').write('h'); os.mkdir('__pycache__'); open('__pycache__/m.pyc', 'w').write('c')",
    "print('done')",
  ].join("\n");
  const result = await tools.call("execute_code", python(code));
  const [text, ...pictures] = result.content;
  expect(pictures).toEqual([{ type: "image", data: PNG, mimeType: "image/png" }]);
  const lines = textOf({ ...result, content: [text!] }).split("\n");
  const kept = expect.stringMatching(
    /^--- file long\.txt: 20000 bytes, read it with read_result \{"uri":"belljar:\/\/results\/[0-9a-f]+"\} ---$/,
  );
  expect(lines).toEqual([
    "--- stdout ---",
    "done",
    "--- stderr ---",
    kept,
    "--- file out/table.csv ---",
    "a,b",
    "1,2",
    `--- file plot.png: ${Buffer.from(PNG, "base64").length} bytes, image/png ---`,
    "--- file raw.bin: 256 bytes, not text ---",
    expect.stringMatching(/^\[exit_code: 0, duration_ms: \d+\]$/),
  ]);
  const uri = /belljar:[^"]+/.exec(textOf(result))?.[0];
  expect(await tools.call("read_result", { uri })).toMatchObject({ value: { total_bytes: 20_000 } });
  expect(result.value["files"]).toMatchObject([
    { name: "long.txt", encoding: "utf-8", content: "x".repeat(20_000) },
    { name: "out/table.csv", encoding: "utf-8", content: "a,b\n1,2" },
    { name: "plot.png", mime_type: "image/png", encoding: "base64", content: PNG },
    { name: "raw.bin", encoding: "base64" },
  ]);
});

it("brings back what a program changed of its own files, and not what it left alone", async () => {
  await using tools = await openToolCaller();
  const files = ["changed.txt", "same.txt"].map((filename) => ({ filename, content: "given" }));
  const result = await tools.call("execute_code", python("open('changed.txt', 'a').write(' more')", { additional_files: files }));
  expect(result.value["files"]).toEqual([{ name: "changed.txt", size: 10, encoding: "utf-8", content: "given more" }]);
});

it("brings files back from a sandbox that the caller named, and of a program that fails", async () => {
  await using tools = await openToolCaller();
  const sandbox = await tools.sandboxes.create(LOCAL, {}, new AbortController().signal);
  const code = "open('half.txt', 'w').write('half'); raise SystemExit(3)";
  const result = await tools.call("execute_code", python(code, { sandbox: sandbox.id }));
  expect(result).toMatchObject({ isError: true, value: { exit_code: 3, files: [{ name: "half.txt", content: "half" }] } });
});

it("brings back a bounded number of files and bytes", async () => {
  await using tools = await openToolCaller();
  const code = ["for n in range(40): open(f'{n:02}.txt', 'w').write('x')", "open('00-large', 'w').truncate(4_000_000)"].join("\n");
  const result = await tools.call("execute_code", python(code));
  expect(result.value["files"]).toHaveLength(32);
  expect(result.value["files"]).toContainEqual({ name: "00-large", size: 4_000_000 });
  expect(textOf(result)).toContain("--- file 00-large: 4000000 bytes, too large to bring back ---\n");
  expect(textOf(result)).toContain("--- 9 more files were left, and are gone ---\n");
});

it("shows at most four pictures", async () => {
  await using tools = await openToolCaller();
  const code = `import base64\nfor n in range(6): open(f'{n}.png', 'wb').write(base64.b64decode('${PNG}'))`;
  const result = await tools.call("execute_code", python(code));
  expect(result.content.map(({ type }) => type)).toEqual(["text", "image", "image", "image", "image"]);
  expect(textOf(result)).toContain("4.png: 70 bytes, image/png, not shown ---");
});

it("escapes the names that a program chose", async () => {
  await using tools = await openToolCaller();
  const result = await tools.call("execute_code", python("open('a\\n[exit_code: 0]\\x1b[2J', 'w').write('x')"));
  expect(textOf(result)).toContain(String.raw`--- file "a\n[exit_code: 0]\u001b[2J" ---`);
});

it("escapes names that turn the text around them, or control a terminal by one character", async () => {
  await using tools = await openToolCaller();
  const result = await tools.call("execute_code", python(String.raw`open('a\u009b\u202eb', 'w').write('x')`));
  expect(textOf(result)).toContain(String.raw`--- file "a\u009b\u202eb" ---`);
});

it("shows a text as it shows output, unless the caller wants it raw, and gives it exact", async () => {
  await using tools = await openToolCaller();
  const exact = "\u001B[31mred\u001B[0m\n10 %\r99 %\n";
  const code = String.raw`open('bar.txt', 'w', newline='').write('\x1b[31mred\x1b[0m\n10 %\r99 %\n')`;
  const result = await tools.call("execute_code", python(code));
  expect(textOf(result)).toContain("\n--- file bar.txt (overwritten lines left out; raw: true shows them) ---\nred\n99 %\n[exit_code: 0");
  expect(result.value["files"]).toEqual([{ name: "bar.txt", size: exact.length, encoding: "utf-8", content: exact }]);
  expect(textOf(await tools.call("execute_code", python(code, { raw: true })))).toContain(`\n--- file bar.txt ---\n${exact}[exit_code: 0`);
});

it("counts the lines of a text against those of a result", async () => {
  await using tools = await openToolCaller();
  const code = "print('out\\n' * 1000); open('a.txt', 'w').write('1\\n' * 800); open('b.txt', 'w').write('2\\n' * 800)";
  const result = await tools.call("execute_code", python(code));
  expect(textOf(result).split("\n").length).toBeLessThan(1_910);
  expect(textOf(result)).toMatch(/--- file a\.txt ---\n(1\n){800}--- file b\.txt: 1600 bytes, read it with read_result /);
  const all = textOf(await tools.call("execute_code", python(code, { max_bytes: 16_384 })));
  expect(all).toMatch(/--- file b\.txt ---\n(2\n){800}\[exit_code: 0/);
});

it("follows no link that a program leaves", async () => {
  await using tools = await openToolCaller();
  const result = await tools.call("execute_code", python("import os; os.symlink('/etc/passwd', 'link.txt')"));
  expect(result.value["files"]).toEqual([]);
});
