import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { askHarness, callCode, readCode } from "../../support/tool-harness.ts";

const TYPED = `import { z } from "zod";
import { defineTool } from "belljar";

interface Args { readonly city: string; readonly days: number }

/**
 * Tells the weather.
 * For some days.
 *
 * @see nothing
 */
export const get_weather = defineTool({
  input: z.object({ city: z.string().describe("Which"), days: z.int32().default(3) }),
  output: z.object({ text: z.string() }),
  annotations: { readOnlyHint: true },
  async run({ city, days }: Args, context: any) {
    context.progress(1, 2, "half");
    context.log("warn", { city });
    console.log("printed");
    console.error("complained");
    return { text: \`\${city as string} \${days}\` };
  },
});
export const DAYS: number = 3;
export default get_weather;`;

const textOf = (text: string) => ({ type: "result", content: [{ type: "text", text }] });
const run = (body: string): string => `export default defineTool({ description: "d", run: async (args, context) => { ${body} } });`;

it("reads a tool in TypeScript: its schemas, its annotations, and the JSDoc comment as the description", async () => {
  const { last, exit } = await readCode("typescript", TYPED);
  expect(last).toEqual({
    type: "tools",
    requirements: [],
    tools: [
      {
        function: "get_weather",
        name: "get_weather",
        description: "Tells the weather.\nFor some days.",
        inputSchema: {
          type: "object",
          properties: {
            city: { type: "string", description: "Which" },
            days: { type: "integer", default: 3, minimum: -2147483648, maximum: 2147483647 },
          },
          required: ["city"],
        },
        outputSchema: { type: "object", properties: { text: { type: "string" } }, required: ["text"], additionalProperties: false },
        annotations: { readOnlyHint: true },
      },
    ],
  });
  expect(exit).toBe(0);
});

it("calls it: defaults are filled in, progress and logs come first, prints stay on their streams", async () => {
  const { answers, stdout, stderr } = await callCode("typescript", TYPED, "get_weather", { city: "Oslo" });
  expect(answers).toEqual([
    { type: "progress", progress: 1, total: 2, message: "half" },
    { type: "log", level: "warning", message: '{"city":"Oslo"}' },
    { ...textOf('{\n  "text": "Oslo 3"\n}'), structured: { text: "Oslo 3" } },
  ]);
  expect([stdout, stderr]).toEqual(["printed\n", "complained\n"]);
});

it("bounds the text of a progress, and tells of the gravest levels as errors", async () => {
  const body = `context.progress(1, undefined, "x".repeat(3_000)); context.log("emergency", "x".repeat(70_000));`;
  const { answers } = await callCode("javascript", run(body), "default");
  expect(answers.slice(0, 2)).toEqual([
    { type: "progress", progress: 1, message: "x".repeat(2_000) },
    { type: "log", level: "error", message: "x".repeat(65_536) },
  ]);
});

it("says which argument or field does not fit the tool's own schema", async () => {
  const wrong = await callCode("typescript", TYPED, "get_weather", { city: 5 });
  expect(wrong.last).toMatchObject({ type: "error", name: "ArgumentError", message: expect.stringMatching(/^city: /) });
  const output = TYPED.replace("return { text:", "return { texts:");
  const { last } = await callCode("typescript", output, "get_weather", { city: "Oslo" });
  expect(last).toMatchObject({ type: "error", name: "ResultError", message: expect.stringMatching(/^text: /) });
});

it.each([
  ["a default export by the unit's name", run("return 1"), [["default", "weather"]]],
  [
    "several exports by theirs",
    `export const b = defineTool({ run() {} }); export const a = defineTool({ run() {} });`,
    [
      ["a", "a"],
      ["b", "b"],
    ],
  ],
  ["a tool by its own name", `export const a = defineTool({ name: "memo.create", title: "T", run() {} })`, [["a", "memo.create"]]],
  [
    "a tool of CommonJS",
    `const { defineTool: define } = require("belljar"); module.exports = define({ run: async () => await 1 });`,
    [["default", "weather"]],
  ],
  ["tools of CommonJS", `const { z } = require("zod"); exports.a = defineTool({ input: z.object({}), run() {} });`, [["a", "a"]]],
  [
    "a tool made after an await",
    `const { z } = await import("zod"); export const a = defineTool({ input: z.object({}), run() {} });`,
    [["a", "a"]],
  ],
  ["a code with a first line for the shell", `#!/usr/bin/env node\n${run("return 1")}`, [["default", "weather"]]],
])("names %s", async (_title, code, names) => {
  const { last } = await readCode("javascript", code);
  const tools = last?.["tools"] as readonly { readonly function: string; readonly name: string }[] | undefined;
  expect(tools?.map((tool) => [tool.function, tool.name])).toEqual(names);
});

it.each([
  ["nothing", "", { type: "object", properties: {}, additionalProperties: false }],
  ["a JSON Schema", `{ type: "object", properties: { a: { default: 1 } } }`, { type: "object", properties: { a: { default: 1 } } }],
  [
    "another library's Standard JSON Schema",
    `{ "~standard": { version: 1, vendor: "x", jsonSchema: { input: ({ target }) => ({ type: "object", title: target }) } } }`,
    { type: "object", title: "draft-2020-12" },
  ],
])("takes %s as the input", async (_title, input, schema) => {
  const { last } = await readCode("javascript", `export const a = defineTool({ run() {}, ${input && `input: ${input}`} })`);
  expect(last).toMatchObject({ tools: [{ inputSchema: schema }] });
});

it.each([
  ["a string", "return 'a\\n\"b'", [{ type: "text", text: 'a\n"b' }]],
  ["nothing", "", []],
  ["null", "return null", []],
  ["a number", "return 1.5", [{ type: "text", text: "1.5" }]],
  ["false", "return false", [{ type: "text", text: "false" }]],
  [
    "an object",
    "return { a: 1, b: undefined, c: new Date(0) }",
    [{ type: "text", text: '{\n  "a": 1,\n  "c": "1970-01-01T00:00:00.000Z"\n}' }],
  ],
  ["an empty list", "return []", [{ type: "text", text: "[]" }]],
  ["a block", "return { type: 'text', text: 'a' }", [{ type: "text", text: "a" }]],
  ["what is no block of its type", "return { type: 'text', txt: 'a' }", [{ type: "text", text: '{\n  "type": "text",\n  "txt": "a"\n}' }]],
  ["blocks", "return { content: [{ type: 'resource_link', uri: 'x:y', name: 'n' }] }", [{ type: "resource_link", uri: "x:y", name: "n" }]],
  [
    "a picture",
    "const { image } = await import('belljar'); return ['a', image(Buffer.from('abc'), 'image/gif')].slice(1)",
    [{ type: "image", data: "YWJj", mimeType: "image/gif" }],
  ],
])("gives %s as content alone", async (_title, body, content) => {
  const { last } = await callCode("javascript", run(body), "default");
  expect(last).toEqual({ type: "result", content });
});

it("fills in the defaults of a JSON Schema", async () => {
  const code = `export const a = defineTool({ input: { type: "object", properties: { n: { default: [1] }, m: {} } }, run: (args) => JSON.stringify(args) });`;
  const { last } = await callCode("javascript", code, "a", { m: 2 });
  expect(last).toEqual(textOf('{"n":[1],"m":2}'));
});

it("gives way to the unit's own zod", async () => {
  const cwd = await mkdtemp(join(tmpdir(), "belljar-tool-"));
  onTestFinished(() => rm(cwd, { recursive: true, force: true }));
  await mkdir(join(cwd, "node_modules/zod"), { recursive: true });
  await writeFile(join(cwd, "node_modules/zod/package.json"), '{"type":"module","exports":"./index.js"}');
  await writeFile(join(cwd, "node_modules/zod/index.js"), 'export const z = { own: { type: "object", title: "own" } };');
  const code = 'import { z } from "zod"; export const a = defineTool({ input: z.own, run() {} });';
  const { last } = await askHarness({ do: "read", language: "javascript", code }, { cwd });
  expect(last).toMatchObject({ tools: [{ inputSchema: { title: "own" } }] });
});

it("finds an empty standard input, and no arguments of the harness", async () => {
  const body = `let text = ""; for await (const chunk of process.stdin) text += chunk;
    return { text, file: (await import("node:fs")).readFileSync(0, "utf8"), argv: process.argv.length }`;
  const { last } = await callCode("javascript", run(body), "default");
  expect(last).toEqual(textOf('{\n  "text": "",\n  "file": "",\n  "argv": 1\n}'));
});

it("prints all of a long output before the end", async () => {
  const { stdout, last } = await callCode("javascript", run(`console.log("x".repeat(5_000_000)); return 1`), "default");
  expect(stdout.length).toBe(5_000_001);
  expect(last).toEqual(textOf("1"));
});

it("aborts the signal of a call when the host gives it up", async () => {
  const body = `const gone = new Promise((resolve) => context.signal.addEventListener("abort", () => resolve("gave up")));
    process.kill(process.pid, "SIGTERM"); setTimeout(() => {}, 60_000); return gone`;
  const { last } = await callCode("javascript", run(body), "default");
  expect(last).toEqual(textOf("gave up"));
});

/** As on a busy machine: the code reaches the thread of the hooks long after the import that asks for it. */
const LATE = `import { MessagePort } from "node:worker_threads";
const post = MessagePort.prototype.postMessage;
MessagePort.prototype.postMessage = function (message, ...rest) {
  const send = () => post.call(this, message, ...rest);
  return typeof message?.source === "string" ? void setTimeout(send, 200) : send();
};`;

it("waits for the thread that finds modules, however late that hears of the code", async () => {
  const argv = ["node", "--import", `data:text/javascript,${encodeURIComponent(LATE)}`];
  const code = 'import { sep } from "node:path"; export default defineTool({ run: () => sep });';
  const { last } = await callCode("javascript", code, "default", {}, { argv });
  expect(last).toMatchObject({ type: "result", content: [{ type: "text", text: "/" }] });
});
