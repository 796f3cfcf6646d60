import { afterAll, beforeAll, expect, it } from "vitest";
import { createCatalog } from "../../../src/catalog/catalog.ts";
import type { Catalog } from "../../../src/catalog/catalog.ts";
import { fixedTools } from "../../../src/catalog/tool-source.ts";
import { LOCAL } from "../../../src/sandbox/sandbox.ts";
import { contexts } from "../../../src/tools/code/contexts.ts";
import { createRunCode } from "../../../src/tools/code/run-code.ts";
import { createSandboxRunCode } from "../../../src/tools/sandbox/sandbox-run-code.ts";
import { openContextLab, type ContextLab } from "../../support/context-lab.ts";
import { textOf, toCalled } from "../../support/tool-caller.ts";

const config = { execTimeoutMs: 40_000, maxOutputBytes: 1_048_576 };
let lab: ContextLab;
let catalog: Catalog;
beforeAll(async () => {
  lab = await openContextLab();
  catalog = createCatalog({
    sources: [fixedTools([createRunCode(config), createSandboxRunCode(config), contexts])],
    sandboxes: lab.sandboxes,
    defaultSandbox: () => ({ name: "default", options: { ephemeral: true } }),
  });
}, 60_000);
afterAll(() => lab[Symbol.asyncDispose](), 60_000);

async function call(name: string, args: object) {
  return toCalled(await catalog.call(LOCAL, name, args, { signal: AbortSignal.timeout(50_000) }));
}

it("shows what code prints, its last value and its error, in text alone", async () => {
  const first = await call("run_code", { code: "x = 6\nprint('hej')\nx * 7" });
  expect(first.structured).toBeUndefined();
  expect(textOf(first)).toMatch(/hej\n42\n\[context_id: python, execution_count: 1, duration_ms: \d+, a new context\]$/);
  expect(first.value).toMatchObject({ stdout: "hej\n", fresh: true, results: [{ type: "result", data: { "text/plain": "42" } }] });
  const failed = await call("run_code", { code: "y = x\ny.nothing", context_id: "python" });
  expect(failed.isError).toBe(true);
  expect(textOf(failed)).toMatch(/AttributeError: 'int' object has no attribute 'nothing'\n\[context_id: python, execution_count: 2/);
});

it("brings pictures as pictures, and of long values a part", async () => {
  const png =
    "import base64\nclass P:\n  def _repr_png_(self): return base64.b64decode('iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGNgYGBgAAAABQABh6FO1AAAAABJRU5ErkJggg==')\n";
  const shown = await call("run_code", { code: `${png}display(P())\n'x' * 100_000` });
  expect(shown.content.map(({ type }) => type)).toEqual(["text", "image"]);
  const [text] = shown.content.map((part) => (part.type === "text" ? part.text : ""));
  expect(text?.length).toBeLessThan(17_000);
  expect(text).toMatch(/truncated: true[^\n]*$/);
  const { id } = await lab.sandbox();
  const data = await call("sandbox_run_code", { id, code: `${png}P()` });
  expect(data.structured).toMatchObject({
    context_id: "python",
    results: [{ type: "result", data: { "image/png": expect.stringMatching(/^\d+ bytes$/) } }],
  });
  expect(data.content.map(({ type }) => type)).toEqual(["text", "image"]);
});

it("shows a large picture, and bounds the text of an error", async () => {
  const large = "class P:\n  def _repr_png_(self): return b'\\x89PNG\\r\\n\\x1a\\n' + b'x' * 2_000_000\nP()";
  expect((await call("run_code", { code: large })).content.map(({ type }) => type)).toEqual(["text", "image"]);
  const failed = await call("run_code", { code: "raise Exception('\\x1b]0;x\\x07\\x1b[31m' + 'y' * 60000)", max_bytes: 1_000 });
  expect(textOf(failed).length).toBeLessThan(1_500);
  expect(textOf(failed)).not.toContain("\u001b");
});

it("tells that the time was up, that an interpreter ended, and what there is", async () => {
  const late = await call("run_code", { code: "sleep 30", lang: "bash", timeout_ms: 300 });
  expect(textOf(late)).toMatch(/timed_out: true, interrupted at its time limit; its variables stay\]$/);
  const ended = await call("run_code", { code: "import os\nos._exit(4)" });
  expect(ended.isError).toBe(true);
  expect(textOf(ended)).toContain("the interpreter exited with code 4; it starts again without its variables");
  const listed = await call("contexts", { action: "list" });
  expect(listed.structured).toEqual({
    contexts: expect.arrayContaining([
      { context_id: "bash", language: "bash", default: true, running: true },
      { context_id: "python", language: "python", default: true, running: true },
    ]),
  });
});

it("makes contexts, and refuses what names none", async () => {
  const made = (await call("contexts", { action: "create", lang: "python" })).structured as {
    contexts: { context_id: string; default: boolean }[];
  };
  const id = made.contexts.find((one) => !one.default && one.context_id.startsWith("python-"))?.context_id ?? "";
  expect(textOf(await call("run_code", { code: "'mine'", context_id: id }))).toContain("mine");
  await call("contexts", { action: "remove", context_id: id });
  expect(textOf(await call("run_code", { code: "1", context_id: id }))).toMatch(/^CONTEXT_NOT_FOUND/);
  expect(textOf(await call("contexts", { action: "remove" }))).toMatch(/^ARGUMENTS_INVALID: .*context_id/);
  expect(textOf(await call("run_code", { code: "1", lang: "python", language: "bash" }))).toMatch(/^ARGUMENTS_INVALID/);
  expect(textOf(await call("run_code", { code: "1", lang: "perl" }))).toMatch(/^LANGUAGE_UNAVAILABLE: .*execute_code/);
});
