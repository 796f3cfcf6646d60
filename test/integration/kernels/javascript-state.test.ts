import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { JavascriptContext } from "../../support/kernels/javascript-context.ts";

it.each([
  ["variables", "const a = 1; let b = 2; var c = 3", "[a, b, c]", "[ 1, 2, 3 ]"],
  ["functions and classes", "function f() { return 1 } class A { x = 2 }", "[f(), new A()]", "[ 1, A { x: 2 } ]"],
  ["patterns", "const { a, b: [c = 5, ...d], ...e } = { a: 1, b: [undefined, 2], f: 3 }", "[a, c, d, e]", "[ 1, 5, [ 2 ], { f: 3 } ]"],
  [
    "what is declared beside an await",
    "let a = await 1, b; const [c] = [2]; class D {} function f() { return a }",
    "[a, b, c, f(), D.name]",
    "[ 1, undefined, 2, 1, 'D' ]",
  ],
  [
    "var within blocks beside an await",
    "for (var i = 0; i < await 3; i++) { if (i) var last = i } for (var { k } of [{ k: 7 }]);",
    "[i, last, k]",
    "[ 3, 2, 7 ]",
  ],
  [
    "imports",
    'import path, { sep as s } from "node:path"; import * as os from "os";',
    "[path.sep, s, typeof os.cpus]",
    "[ '/', '/', 'function' ]",
  ],
  [
    "what is exported",
    "export const a = 1; export function f() { return a } const b = 2; export { b }; export default class X {}",
    "[a, f(), b, X.name]",
    "[ 1, 1, 2, 'X' ]",
  ],
])("keeps %s between runs", async (_what, first, second, value) => {
  await using context = await JavascriptContext.open();
  expect(await context.run(first)).toEqual([]);
  expect(await context.value(second)).toBe(value);
});

it("declares a name again, whatever it was", async () => {
  await using context = await JavascriptContext.open();
  for (const declaration of [
    "const x = 1",
    "let x = 2",
    "class x {}",
    "function x() {}",
    "await 0; const x = 3",
    "import x from 'fs'",
    "let x",
  ])
    expect(await context.run(declaration)).toEqual([]);
  expect(await context.value("typeof x")).toBe("'undefined'");
});

it("keeps what a run had declared when it failed", async () => {
  await using context = await JavascriptContext.open();
  expect(await context.value("const a = 1; throw new TypeError('no')")).toBe("TypeError: no");
  expect(await context.value("a")).toBe("1");
});

it("has names of its own, whatever globals a run declares", async () => {
  await using context = await JavascriptContext.open();
  const names =
    "Map Set Object Array JSON Promise RegExp String Symbol Error Atomics Reflect process console Buffer URL navigator crypto".split(" ");
  await context.run(names.map((name, index) => `const ${name} = ${index};`).join("\n"));
  expect(await context.value("await 1; Map + Set + navigator")).toBe("17");
  expect((await context.run("({ a: [1] })")).at(-1)?.data?.["application/json"]).toEqual({ a: [1] });
});

it("gives the value of the last expression alone", async () => {
  await using context = await JavascriptContext.open();
  expect(await context.value("1 + 1")).toBe("2");
  expect(await context.value("const s = 'a'; s // the end\n;;")).toBe("'a'");
  expect(await context.value("{ a: 1, b: await 2 }")).toBe("{ a: 1, b: 2 }");
  expect(await context.value("(await 1, 2)\n// the end")).toBe("2");
  expect(await context.value("export default 3 + 4")).toBe("7");
  expect(await context.value("#!/usr/bin/env node\nawait 5")).toBe("5");
  for (const code of ["", "// nothing", "undefined", "let y = 3", "if (true) { 5 }", "for (const n of [1]) n", "await 1; function f() {}"])
    expect({ code, told: await context.run(code) }).toEqual({ code, told: [] });
});

it("waits for a promise that is the last value", async () => {
  await using context = await JavascriptContext.open();
  expect(await context.value("async function main() { await null; console.log('in'); return 5 } main()")).toBe("5");
  expect(await context.value("Promise.reject(new RangeError('far'))")).toBe("RangeError: far");
});

it("counts its runs, and those that failed", async () => {
  await using context = await JavascriptContext.open();
  await context.run("throw 1");
  expect((await context.runWhole("1")).at(-1)).toMatchObject({ type: "done", execution_count: 2 });
});

it("works where the last run left it", async () => {
  await using context = await JavascriptContext.open();
  await mkdir(join(context.folder, "inner"));
  await context.run("process.chdir('inner')");
  expect(await context.value("process.cwd()")).toBe(`'${context.folder}/inner'`);
  expect(await context.value("process.cwd()", { cwd: context.folder })).toBe(`'${context.folder}'`);
  expect(await context.value("1", { cwd: "/nonexistent" })).toContain("ENOENT");
});

it("finds packages and files from its folder, by require and by import", async () => {
  await using context = await JavascriptContext.open();
  const modern = join(context.folder, "node_modules/modern");
  await mkdir(modern, { recursive: true });
  await writeFile(join(modern, "package.json"), '{"name":"modern","type":"module","exports":{"import":"./index.js"}}');
  await writeFile(join(modern, "index.js"), "export default 'modern'; export const extra = 1;");
  await writeFile(join(context.folder, "old.cjs"), "exports['o' + 'ld'] = 2; exports.main = require.main === module;");
  await writeFile(join(context.folder, "data.json"), '{"n":3}');
  const code = 'import m, { extra } from "modern"; import { old } from "./old.cjs"; import data from "./data.json" with { type: "json" };';
  expect(await context.value(`${code} [m, extra, old, data.n]`)).toBe("[ 'modern', 1, 2, 3 ]");
  expect(await context.value("const { default: m } = await import('modern'); [m, require('./old.cjs').old]")).toBe("[ 'modern', 2 ]");
  expect(await context.value("import.meta.dirname === process.cwd() && import.meta.url.startsWith('file:///')")).toBe("true");
  expect(await context.value("require.main === module")).toBe("true");
  expect(await context.value("require('./old.cjs').main")).toBe("false");
  expect(await context.value('import { nothing } from "node:fs"')).toBe(
    "SyntaxError: The module does not provide an export named 'nothing'",
  );
});

it("runs TypeScript beside JavaScript, with imports of its files", async () => {
  await using context = await JavascriptContext.open();
  await writeFile(join(context.folder, "util.ts"), "export type Num = number; export const double = (n: Num): Num => n * 2;");
  const options = { language: "typescript" } as const;
  const first = "interface Box { size: number }\nenum Color { Red = 1, Green }\nconst box: Box = { size: Color.Green as number };";
  expect(await context.run(first, options)).toEqual([]);
  expect(await context.value('import { double, type Num } from "./util.ts"; const n: Num = box.size; double(n)!', options)).toBe("4");
  expect(await context.value("double(box.size)")).toBe("4");
  expect(await context.value("const a: number = 1;\nconst b: = 2;", options)).toBe("SyntaxError: Unexpected token (2:10)");
  expect(await context.value('import fs from "fs"', options)).toBe("undefined");
  expect(await context.value("typeof fs.readFileSync", options)).toBe("'function'");
});
