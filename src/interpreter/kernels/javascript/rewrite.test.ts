import { Script } from "node:vm";
import { expect, it } from "vitest";
import { rewrite } from "./rewrite.ts";

it("leaves what needs no change as it is, to the character", () => {
  const code = "var a = 1;\n// comment\nfor (let i = 0; i < 3; i++) { const b = i }\nasync function f() { await 1; var c }\na";
  expect(rewrite(code)).toEqual({ code, columnOffset: 0, names: ["a", "f"], isAsync: false, hasValue: true });
});

it("makes top-level declarations ones that may come again", () => {
  const { code, names } = rewrite("const a = 1, [b] = [2]\nlet c, d = 3\nclass E {}\nexport const f = 4");
  expect(code).toBe("var a = 1, [b] = [2]\nvar c = void 0, d = 3\nvar E = class E {};\nvar f = 4");
  expect(names).toEqual(["a", "b", "c", "d", "E", "f"]);
});

it("keeps every line at its number", () => {
  const code = 'import a,\n  { b } from "x";\nconst\n  c = await\n  1;\nexport\ndefault\nc\n';
  const rewritten = rewrite(code);
  expect(rewritten.code.split("\n").slice(0, -1)).toHaveLength(code.split("\n").length);
  expect(rewritten.code.split("\n")[7]).toBe("c)]");
});

it.each([
  "if (x) var y = await 1; else var z = 2",
  "for (var [i] of await w) var j = i",
  "for (var k in o) await k",
  "for await (var m of s);",
  "label: for (var n = 0, p; ;) { await n; break label }",
  "a\nconst [q] = await r\nclass T {}\n(1)",
  "export default async function () { await 1 }\nawait 2",
  "export { u } \n export default class {} \n await 3",
  "const { v = await 1, ...w } = {}; function v2() { return import.meta } import('x')",
  "// last\nawait 1 // comment",
  "`${await 1}`",
  "do await 1\nwhile (0)\n[1].x",
])("makes a script that the engine takes of %s", (code) => {
  const rewritten = rewrite(code);
  expect(rewritten.isAsync).toBe(true);
  expect(new Script(rewritten.code)).toBeInstanceOf(Script);
});

it("leaves to the engine what it cannot parse, and what exports from elsewhere", () => {
  for (const code of ["const = 1", "let a; let a", "export * from 'x'", "export { a } from 'x'", `${"(".repeat(100_000)}`])
    expect(rewrite(code)).toEqual({ code, columnOffset: 0, names: [], isAsync: false, hasValue: true });
});

it("works through long and deep programs", () => {
  const sum = Array.from({ length: 50_000 }, (_, index) => `f(${index});`).join("\n");
  expect(rewrite(`${sum}\nawait 1`).isAsync).toBe(true);
  expect(rewrite("{".repeat(500) + "await 1" + "}".repeat(500)).isAsync).toBe(true);
});

it("does not take an await or var of a function for the program's", () => {
  for (const code of [
    "async () => await 1",
    "class A { static { var a } async m() { await 1 } }",
    "async function f() { for await (const x of y); }",
  ])
    expect(rewrite(code)).toMatchObject({ code: expect.stringContaining(code.slice(-10)) as string, isAsync: false });
});
