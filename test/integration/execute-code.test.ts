import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import type { Progress } from "../../src/catalog/tool.ts";
import { openToolCaller, textOf } from "../support/tool-caller.ts";
import { LOCAL } from "../../src/sandbox/sandbox.ts";

it("answers both streams in one text, and as a value", async () => {
  await using tools = await openToolCaller();
  const result = await tools.call("execute_code", {
    language: "python",
    entrypoint_code: "import sys\nprint('hi')\nprint('oh', file=sys.stderr)",
  });
  const text = /^--- stdout ---\nhi\n--- stderr ---\noh\n\[exit_code: 0, duration_ms: \d+\]$/;
  expect(result.content).toEqual([{ type: "text", text: expect.stringMatching(text) }]);
  expect(result.isError).toBe(false);
  expect(result.value).toMatchObject({ status: "success", stdout: "hi\n", stderr: "oh\n", exit_code: 0, truncated: false });
  expect(result.value["duration_ms"]).toBeTypeOf("number");
});

it("reports a non-zero exit as an error, with all that was printed", async () => {
  await using tools = await openToolCaller();
  const result = await tools.call("execute_code", { lang: "bash", entrypoint_code: "echo a; exit 3" });
  expect(result.isError).toBe(true);
  const text =
    /^Execution Failed \(error\): The program exited with code 3\n\n--- stdout ---\na\n--- stderr ---\n\[exit_code: 3, duration_ms: \d+\]$/;
  expect(textOf(result)).toMatch(text);
  expect(result.value).toMatchObject({ status: "error", exit_code: 3 });
});

it("says by which signal a program ended", async () => {
  await using tools = await openToolCaller();
  const result = await tools.call("execute_code", { language: "bash", entrypoint_code: "kill -KILL $$" });
  expect(textOf(result)).toContain("Execution Failed (error): The program was ended by SIGKILL\n\n");
  expect(result.value).toMatchObject({ exit_code: null });
});

it("runs with the entry's name and the additional files", async () => {
  await using tools = await openToolCaller();
  const result = await tools.call("execute_code", {
    language: "python",
    entrypoint_filename: "app.py",
    entrypoint_code: "import util\nprint(util.X, __file__.endswith('app.py'))",
    additional_files: [{ filename: "util.py", content: "X = 1" }],
  });
  expect(result.value).toMatchObject({ stdout: "1 True\n" });
});

it.each([
  [{}, "language is missing"],
  [{ language: "python" }, "entrypoint_code is missing"],
  [{ entrypoint_code: "1" }, "language is missing"],
  [{ snippet_name: "a", language: "python" }, "they exclude each other"],
  [{ snippet_name: "a", lang: "python" }, "they exclude each other"],
  [{ snippet_name: "a", entrypoint_code: "1" }, "they exclude each other"],
  [{ language: "python", lang: "bash", entrypoint_code: "1" }, "lang: differs from language"],
  [{ language: "python", entrypoint_code: 1 }, "entrypoint_code: "],
  [{ language: "python", entrypoint_code: "1", additional_files: [{ filename: "x" }] }, "additional_files.0.content: "],
  [{ language: "python", entrypoint_code: "1", additional_files: [{ filename: "../x", content: "" }] }, "leads out"],
  [{ language: "python", entrypoint_code: "1", entrypoint_filename: "/etc/x.py" }, "is absolute"],
  [{ language: "python", entrypoint_code: "1", code: "2" }, "code"],
])("refuses %j", async (args, problem) => {
  await using tools = await openToolCaller();
  const result = await tools.call("execute_code", args);
  expect(result.isError).toBe(true);
  expect(textOf(result)).toMatch(/^ARGUMENTS_INVALID: /);
  expect(textOf(result)).toContain(problem);
});

it("runs a snippet by its name, in the language of its extension", async () => {
  await using snippets = await openSnippets();
  await using tools = await openToolCaller({ snippetsDirectory: snippets.folder });
  const result = await tools.call("execute_code", { snippet_name: "hello_world" });
  expect(result.value).toMatchObject({ stdout: "hello\n" });
});

it("lists the snippets there are, or says that there are none", async () => {
  await using snippets = await openSnippets();
  await using tools = await openToolCaller({ snippetsDirectory: snippets.folder });
  expect(textOf(await tools.call("execute_code", { snippet_name: "other" }))).toBe(
    'SNIPPET_NOT_FOUND: No snippet "other"; there are: hello_world',
  );
  await using without = await openToolCaller();
  expect(textOf(await without.call("execute_code", { snippet_name: "other" }))).toMatch(/^SNIPPET_NOT_FOUND: This server has no snippets/);
});

it("keeps nothing between calls, unless a sandbox is named", async () => {
  await using tools = await openToolCaller();
  const keep = "open('kept', 'w').close()";
  const look = "import os; print(os.path.exists('kept'))";
  await tools.call("execute_code", { language: "python", entrypoint_code: keep });
  expect(await tools.call("execute_code", { language: "python", entrypoint_code: look })).toMatchObject({
    value: { stdout: "False\n" },
  });
  const sandbox = await tools.sandboxes.create(LOCAL, { env: { WHO: "named" } }, new AbortController().signal);
  const result = await tools.call("execute_code", { language: "bash", entrypoint_code: "echo $WHO", sandbox: sandbox.id });
  expect(result.value).toMatchObject({ stdout: "named\n" });
});

it("tells of the output while the program runs", async () => {
  await using tools = await openToolCaller();
  const controller = new AbortController();
  const told: string[] = [];
  const progress = ({ message = "" }: Progress) => {
    told.push(message);
    controller.abort();
  };
  const code = "echo first; echo 'at work'; sleep 600";
  const result = await tools.call("execute_code", { language: "bash", entrypoint_code: code }, { signal: controller.signal, progress });
  expect(textOf(result)).toMatch(/^CANCELLED/);
  expect(told).toEqual(["at work"]);
});

it("says that the compiler failed", async () => {
  await using tools = await openToolCaller();
  const result = await tools.call("execute_code", { language: "c", entrypoint_code: "nonsense" });
  expect(textOf(result)).toMatch(/^Execution Failed \(error\): The compiler exited with code 1\n\n--- stdout ---\n--- stderr ---\nmain\.c/);
});

async function openSnippets() {
  const folder = await mkdtemp(join(tmpdir(), "belljar-snippets-"));
  await writeFile(join(folder, "hello_world.py"), "print('hello')");
  return { folder, [Symbol.asyncDispose]: () => rm(folder, { recursive: true }) };
}
