import { expect, it } from "vitest";
import * as z from "zod";
import { createNoSandboxes } from "../../test/support/no-sandboxes.ts";
import { LOCAL } from "../sandbox/sandbox.ts";
import { createCatalog } from "./catalog.ts";
import { lateTools, toFacts } from "./late-tools.ts";
import { fixedTools } from "./tool-source.ts";
import type { Tool } from "./tool.ts";
import { defineDataTool } from "./tool.ts";
import { dataResult } from "./tool-result.ts";
import { zodSchema } from "./tool-schema.ts";

const { signal } = new AbortController();

const double = defineDataTool({
  name: "double",
  title: "Double",
  description: "Doubles a number",
  toolset: "sums",
  role: "support",
  annotations: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
  input: z.strictObject({ number: z.number() }),
  output: z.object({ sum: z.number() }),
  run: async (_context, { number }) => dataResult({ sum: 2 * number }),
});

function open(load: () => Promise<readonly Tool[]>) {
  const facts = JSON.parse(JSON.stringify([double].map(toFacts))) as ReturnType<typeof toFacts>[];
  const errors: unknown[] = [];
  const catalog = createCatalog({
    sources: [fixedTools(lateTools(facts, load))],
    sandboxes: createNoSandboxes(),
    defaultSandbox: () => ({ name: "default", options: {} }),
    log: { error: ({ err }) => void errors.push(err) },
  });
  return { catalog, errors, call: (args: unknown) => catalog.call(LOCAL, "double", args, { signal }) };
}

const catalogOf = (tool: Tool) =>
  createCatalog({
    sources: [fixedTools([tool])],
    sandboxes: createNoSandboxes(),
    defaultSandbox: () => ({ name: "default", options: {} }),
  });

it("lists tools as their code does, without loading it", () => {
  const { catalog } = open(() => Promise.reject(new Error("loaded")));
  expect(catalog.list(LOCAL)).toEqual(catalogOf(double).list(LOCAL));
});

it("checks and runs a call with the loaded tool", async () => {
  const { call } = open(async () => [double]);
  expect(await call({ number: 21 })).toMatchObject({ value: { sum: 42 } });
  expect(await call({ number: "x" })).toMatchObject({ isError: true, value: { code: "ARGUMENTS_INVALID" } });
});

it("answers INTERNAL while the code cannot be loaded, and tells the log why", async () => {
  const loads = [() => Promise.reject(new Error("no such file")), async () => [], async () => [double]];
  const { call, errors } = open(() => loads.shift()?.() ?? Promise.resolve([double]));
  expect(await call({ number: 1 })).toMatchObject({ isError: true, value: { code: "INTERNAL" } });
  expect(await call({ number: 1 })).toMatchObject({ isError: true, value: { code: "INTERNAL" } });
  expect(errors.map(String)).toEqual([expect.stringContaining("no such file"), expect.stringContaining('no code for the tool "double"')]);
  expect(await call({ number: 1 })).toMatchObject({ value: { sum: 2 } });
});

it("has the schema of a value that no host is shown, and checks it by the tool's own", async () => {
  const value = zodSchema(z.object({ exit_code: z.int() }));
  const tool: Tool = { ...double, value };
  const facts = toFacts(tool);
  expect(facts.value).toEqual(value.schema);
  const [late] = lateTools([facts], async () => [tool]);
  expect(await late?.value?.parse({ exit_code: 1 })).toEqual({ value: { exit_code: 1 } });
  expect(await late?.value?.parse({ exit_code: "x" })).toHaveProperty("problems");
  const [without] = lateTools([facts], async () => [double]);
  expect(await without?.value?.parse({})).toEqual({ problems: ['The tool "double" has no value'] });
  expect(toFacts(double)).not.toHaveProperty("value");
});
