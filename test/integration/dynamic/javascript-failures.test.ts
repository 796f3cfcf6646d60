import { expect, it } from "vitest";
import { askHarness, callCode, readCode } from "../../support/tool-harness.ts";

const run = (body: string): string => `export default defineTool({ run: async (args, context) => { ${body} } });`;
const tool = (fields: string): string => `export const a = defineTool({ run() {}, ${fields} });`;

it.each([
  ["javascript", "let a = 1;\nlet b = ;", 2, /^SyntaxError: /],
  ["javascript", "module.exports = defineTool({\n  run() { let b = ; }\n});", 2, /^SyntaxError: /],
  ["typescript", "let a: number = 1;\nlet b: = ;", 2, /^SyntaxError: /],
  ["typescript", "enum A { B }\nlet b = ;", 2, /^SyntaxError: /],
  ["javascript", "def main():\n  pass", 1, /^SyntaxError: /],
  ["javascript", "\nimport pad from 'left-pad';", 2, /package "left-pad" is not installed.*\/\/ requirements/],
  ["javascript", '\n\nmodule.exports = require("left-pad");', 3, /package "left-pad" is not installed/],
  ["javascript", "\nimport { nothing } from 'node:fs';", 2, /^SyntaxError: .*nothing/],
  ["javascript", "\n\nprocess.exit(3);", 3, /called process\.exit\(3\)/],
  ["javascript", "\nthrow new RangeError('at import');", 2, /^RangeError: at import$/],
  ["javascript", "throw 5;", null, /^Error: 5$/],
  ["javascript", "await new Promise(() => {});", null, /waits for a promise/],
  ["javascript", "export const a = 1; export default () => 2;", null, /exports no tool/],
  ["javascript", "const text = 'export default defineTool({})';", null, /exports no tool/],
  ["javascript", `${tool("name: 'x'")} export const x = defineTool({ run() {} });`, null, /^Two tools are named "x"$/],
  ["javascript", "\nexport const a = defineTool({ description: 'no run' });", 2, /needs run/],
  ["javascript", tool("description: 5"), 1, /description must be a string/],
  ["javascript", tool("annotations: { readOnly: true }"), 1, /no annotation "readOnly"/],
  ["javascript", tool("annotations: { readOnlyHint: 1 }"), 1, /readOnlyHint must be true or false/],
  ["javascript", tool("input: 5"), null, /^The input schema of the tool "a" cannot be read/],
  ["javascript", tool("input: { type: 'string' }"), null, /the schema of an object/],
  ["javascript", tool("output: { type: 'array' }"), null, /^The output schema of the tool "a".*the schema of an object/],
  ["javascript", tool("input: { $schema: 'http://json-schema.org/draft-07/schema#', type: 'object' }"), null, /2020-12/],
  ["javascript", tool("input: { type: 'object', properties: { n: { default: NaN } } }"), null, /"a".*\$\.properties\.n\.default is NaN/],
  ["javascript", tool("input: { type: 'object', properties: { n: { default: 1n } } }"), null, /\$\.properties\.n\.default is a BigInt/],
  ["javascript", tool("input: { type: 'object', title: 'x'.repeat(300_000) }"), null, /more than 262144 bytes/],
  ["typescript", `import { z } from "zod"; ${tool("input: z.object({ at: z.date() })")}`, null, /"a".*Date/],
  ["typescript", `import { z } from "zod"; ${tool("input: z.string()")}`, null, /the schema of an object/],
])("refuses to read %s %j, with line %j and the reason", async (language, code, line, message) => {
  const { answers } = await readCode(language, code);
  expect(answers).toEqual([{ type: "refused", line, message: expect.stringMatching(message) }]);
});

it("shows the author's own frames with their lines, and the causes", async () => {
  const code = `import { z } from "zod";
interface Args { readonly city: string }

function find(city: string): never {
  throw new RangeError("no " + city, { cause: new TypeError("cut") });
}

export const a = defineTool({
  input: z.object({ city: z.string() }),
  async run({ city }: Args) {
    await null;
    return find(city);
  },
});`;
  const { last } = await callCode("typescript", code, "a", { city: "x" });
  const frames = [
    "    at find (weather.ts:5)",
    '        throw new RangeError("no " + city, { cause: new TypeError("cut") });',
    "    at run (weather.ts:12)",
    "        return find(city);",
  ];
  const traceback = ["RangeError: no x", ...frames, "Caused by TypeError: cut", ...frames].join("\n");
  expect(last).toEqual({ type: "error", name: "RangeError", message: "no x", traceback });
});

it.each([
  ["a class of its own", "class CityError extends Error {} throw new CityError('x')", "CityError", /^x$/],
  ["a text", "throw 'x'", "Error", /^'x'$/],
  ["nothing", "throw undefined", "Error", /^undefined$/],
  [
    "an error that throws when it is read",
    "throw Object.defineProperty(new Error(), 'message', { get() { throw 1 } })",
    "Error",
    /cannot be shown/,
  ],
  ["in a timer", "setTimeout(() => { throw new TypeError('late') }, 1); await new Promise(() => {})", "TypeError", /^late$/],
  [
    "in a promise that nobody awaits",
    "Promise.reject(new TypeError('lost')); await new Promise((r) => setTimeout(r, 1000))",
    "TypeError",
    "lost",
  ],
  ["by process.exit", "process.exit(0)", "ExitError", /process\.exit\(0\)/],
  ["a promise that nothing settles", "await new Promise(() => {})", "Error", /nothing can settle/],
  ["an unknown level", "context.log('loud', 'x')", "TypeError", /no level loud/],
  ["a progress that is no number", "context.progress(NaN)", "ResultError", /^\$\.progress is NaN/],
])("tells of an error: %s", async (_title, body, name, message) => {
  const { last } = await callCode("javascript", run(body), "default");
  expect(last).toMatchObject({ type: "error", name, message: expect.stringMatching(message) });
});

it("bounds long messages, many errors and endless causes", async () => {
  const body = `const one = () => new Error("m".repeat(100_000)); const error = new AggregateError(Array.from({ length: 1000 }, one), "many");
    error.cause = error; throw error;`;
  const { last } = await callCode("javascript", run(body), "default");
  expect(last).toMatchObject({ type: "error", name: "AggregateError", message: "many" });
  expect(String(last?.["traceback"]).length).toBeLessThanOrEqual(64 * 1024);
});

it.each([
  ["// hi\n\n// requirements\n// zod@^4\n//   @scope/x@1.2.3\n// left-pad\n\nimport 'x';", ["zod@^4", "@scope/x@1.2.3", "left-pad"]],
  ['#!/usr/bin/env node\n/* package.json\n{ "dependencies": { "zod": ">=4 <5" } }\n*/\n// requirements\n// a', ["zod@>=4 <5", "a"]],
  ["import 'x';\n// requirements\n// zod", []],
  ["const text = `\n// requirements\n// zod`;", []],
  ["// requirements: none\nlet a = ;", []],
  ["process.exit(1)", []],
])("finds requirements without running the code: %j", async (code, requirements) => {
  const { answers } = await askHarness({ do: "requirements", language: "javascript", code });
  expect(answers).toEqual([{ type: "requirements", requirements }]);
});

it.each([
  ["// requirements\n// zod\n// file:../x", 3, /"file:\.\.\/x" is no npm requirement/],
  ["// requirements\n// --registry=x", 2, /is no npm requirement/],
  ["// requirements\n// https://example.com/x.tgz", 2, /is no npm requirement/],
  ["// requirements\n// x@npm:y@1", 2, /is no npm requirement/],
  [`// requirements\n// a\n// ${"x".repeat(201)}`, 3, /is no npm requirement/],
  [`// requirements\n${Array.from({ length: 101 }, (_value, at) => `// x${at}\n`).join("")}`, null, /101 requirements; at most 100/],
  ["// requirements\n//", 2, /is no npm requirement/],
  ["\n/* package.json { dependencies } */", 2, /must be JSON/],
  ['/* package.json { "dependencies": { "x": "git+ssh://y" } } */', 1, /is no npm requirement/],
])("refuses the requirements %j", async (code, line, message) => {
  for (const kind of ["requirements", "read"]) {
    const { answers } = await askHarness({ do: kind, language: "javascript", code });
    expect(answers).toEqual([{ type: "refused", line, message: expect.stringMatching(message) }]);
  }
});
