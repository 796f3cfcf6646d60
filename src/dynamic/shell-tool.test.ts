import { expect, it } from "vitest";
import { readShellTool, shellCall, shellResult } from "./shell-tool.ts";
import type { ReadTool } from "./unit.ts";

const script = (head: unknown, body = "true"): string => {
  const lines = JSON.stringify(head, null, 2).split("\n");
  return ["#!/bin/bash", "# ---", ...lines.map((line) => `# ${line}`), "# ---", body].join("\n");
};

function toolOf(code: string): ReadTool {
  const read = readShellTool(code, "greet");
  if (read.kind === "refused") throw new TypeError(read.message);
  return read.tools[0];
}

it("reads the short form of parameters", () => {
  const parameters = {
    name: { type: "string", description: "Whom" },
    times: { type: "integer", default: 1 },
    loud: { type: "boolean", optional: true },
  };
  expect(toolOf(script({ description: "Greets", title: "T", parameters, annotations: { readOnlyHint: true } }))).toEqual({
    name: "greet",
    function: "main",
    title: "T",
    description: "Greets",
    inputSchema: {
      type: "object",
      properties: { name: { type: "string", description: "Whom" }, times: { type: "integer", default: 1 }, loud: { type: "boolean" } },
      required: ["name"],
      additionalProperties: false,
    },
    annotations: { readOnlyHint: true },
  });
});

it("takes schemas as they are, and a name of the tool's own", () => {
  const input = { type: "object", properties: { a: {} } };
  const output = { type: "object" };
  expect(toolOf(script({ name: "memo.list", input, output }))).toMatchObject({
    name: "memo.list",
    inputSchema: input,
    outputSchema: output,
    description: "",
  });
  expect(toolOf("# ---\n#{}\n# ---")).toMatchObject({ inputSchema: { type: "object", properties: {} } });
});

const names = (...given: string[]): string => script({ parameters: Object.fromEntries(given.map((name) => [name, { type: "string" }])) });

it.each([
  [1, /Line 1 must be "# ---"/, "echo hi"],
  [2, /Line 2 must be "# ---"/, "#!/bin/sh\necho hi"],
  [1, /run by bash/, "#!/usr/bin/env python3\n# ---\n# {}\n# ---"],
  [3, /no comment/, "# ---\n# {}\necho hi"],
  [1, /no closing/, "# ---\n# {}"],
  [2, /must be a JSON object/, "# ---\n# description: yaml\n# ---"],
  [4, /must be a JSON object/, '# ---\n# {\n#   "title": "a"\n#   "name": "b"\n# }\n# ---'],
  [2, /wrong/, "# ---\n# [1]\n# ---"],
  [2, /must be a JSON object/, "# ---\n# ---"],
  [2, /levels deep/, `# ---\n# ${"[".repeat(60_000)}\n# ---`],
  [2, /more than 65536 characters/, `# ---\n# "${"x".repeat(65_536)}"\n# ---`],
  [4, /has no requirements/, script({ requirements: ["jq"] })],
  [4, /wrong at title/, script({ title: 5 })],
  [5, /wrong at descripton/, script({ title: "a", descripton: "x" })],
  [5, /wrong at annotations\.readOnly/, script({ annotations: { readOnly: true } })],
  [5, /input must be/, script({ title: "a", input: { type: "string" } })],
  [4, /output must be/, script({ output: { type: "array" } })],
  [4, /input and parameters/, script({ parameters: {}, input: { type: "object" } })],
  [8, /cannot be a variable/, names("city", "a-b")],
  [5, /cannot be a variable/, names("a".repeat(65))],
  [8, /would be one variable/, names("city", "City")],
  [7, /variable PATH/, script({ input: { type: "object", properties: { path: {} } } })],
  [5, /NUL/, script({}, "a\0b")],
  [null, /more than 131071 bytes/, script({}, "x".repeat(131_072))],
])("refuses a script at line %j by %s", (line, message, code) => {
  expect(readShellTool(code, "greet")).toEqual({ kind: "refused", line, message: expect.stringMatching(message) });
});

it.each([
  "PATH",
  "path",
  "LD_PRELOAD",
  "BASH_ENV",
  "env",
  "Home",
  "ifs",
  "_",
  "ps4",
  "Prompt_Command",
  "node_options",
  "PYTHONPATH",
  "git_dir",
  "https_proxy",
])("refuses the parameter %s, which programs take as a setting", (name) => {
  expect(readShellTool(names(name), "greet")).toMatchObject({
    kind: "refused",
    line: 5,
    message: expect.stringMatching(/takes? as a setting/),
  });
});

const CODE = script({ parameters: { text: { default: "you" }, n: {}, on: {}, list: {}, none: {} } }, "echo");

it("calls by arguments of bash, variables and JSON on standard input", () => {
  const args = { n: 1.5, on: false, list: ["a"], none: null, extra: "x" };
  expect(shellCall(toolOf(CODE), CODE, args)).toEqual({
    argv: ["bash", "--noprofile", "--norc", "-c", CODE, "greet"],
    env: { TEXT: "you", N: "1.5", ON: "false", LIST: '["a"]' },
    stdin: '{"text":"you","n":1.5,"on":false,"list":["a"],"none":null,"extra":"x"}',
  });
});

it("leaves out variables that cannot be, and keeps their values on standard input", () => {
  const args = { text: "x".repeat(131_072), n: "\ud800", on: "y".repeat(100_000), list: "ok" };
  const { env, stdin } = shellCall(toolOf(CODE), CODE, args);
  expect(env).toEqual({ ON: args.on, LIST: "ok" });
  expect(JSON.parse(stdin)).toEqual(args);
});

it("refuses a NUL character in an argument", () => {
  expect(() => shellCall(toolOf(CODE), CODE, { text: "a\0b" })).toThrow(expect.objectContaining({ code: "ARGUMENTS_INVALID" }));
});

it.each([
  [
    { exitCode: 0, stdout: "hi\n", stderr: "noise" },
    { type: "result", content: [{ type: "text", text: "hi" }] },
  ],
  [
    { exitCode: 0, stdout: "", stderr: "" },
    { type: "result", content: [] },
  ],
  [
    { exitCode: 0, stdout: "a\n\n", stderr: "" },
    { type: "result", content: [{ type: "text", text: "a\n" }] },
  ],
  [
    { exitCode: 3, stdout: "half", stderr: "one\ngreet: line 2: no\n" },
    {
      type: "error",
      name: "ExitError",
      message: "The script ended with exit code 3: greet: line 2: no",
      traceback: "one\ngreet: line 2: no",
    },
  ],
  [
    { exitCode: 137, stdout: "", stderr: "" },
    { type: "error", name: "ExitError", message: "The script ended with exit code 137", traceback: "The script ended with exit code 137" },
  ],
])("makes of %j the answer %j", (run, answer) => {
  expect(shellResult(toolOf(CODE), run)).toEqual(answer);
});

it("takes of standard error the end alone", () => {
  const answer = shellResult(toolOf(CODE), { exitCode: 1, stdout: "", stderr: `${"x".repeat(10_000_000)}\nlast` });
  expect(answer).toMatchObject({ message: "The script ended with exit code 1: last", traceback: expect.stringMatching(/^x{4091}\nlast$/) });
});

it("reads an object of JSON from standard output where the tool has an output schema", () => {
  const tool = toolOf(script({ output: { type: "object" } }));
  expect(shellResult(tool, { exitCode: 0, stdout: '{"a":1}\n', stderr: "" })).toEqual({
    type: "result",
    content: [{ type: "text", text: '{"a":1}' }],
    structured: { a: 1 },
  });
  for (const stdout of ["", "hi", "[1]", "null", '{"a":1}{}'])
    expect(shellResult(tool, { exitCode: 0, stdout, stderr: "" })).toMatchObject({ type: "error", name: "ResultError" });
});
