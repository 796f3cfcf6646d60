import * as z from "zod";
import { createCatalog } from "../../src/catalog/catalog.ts";
import type { Catalog } from "../../src/catalog/catalog.ts";
import { fixedTools } from "../../src/catalog/tool-source.ts";
import { defineDataTool, defineTool } from "../../src/catalog/tool.ts";
import type { ToolContext } from "../../src/catalog/tool.ts";
import { dataResult, textResult } from "../../src/catalog/tool-result.ts";
import { createNoSandboxes } from "./no-sandboxes.ts";
import type { OwnedTools } from "./owned-tools.ts";
import { createOwnedTools } from "./owned-tools.ts";

/** Tools whose calls a test watches, behind the real catalog. */
export interface CallProbe {
  readonly tools: Catalog;
  /** Tools beside these, for a test to change. */
  readonly more: OwnedTools;
  /** Resolves with the context of the next call of `wait`, once it runs. */
  started(): Promise<ToolContext>;
  /** Resolves when a call of `wait` was aborted and has cleaned up. */
  readonly cleaned: Promise<void>;
}

export function createCallProbe(): CallProbe {
  const starts: ((context: ToolContext) => void)[] = [];
  let clean = (): void => undefined;
  const cleaned = new Promise<void>((resolve) => (clean = resolve));
  const more = createOwnedTools();
  const waiting = wait(
    (context) => starts.shift()?.(context),
    () => clean(),
  );
  const tools = createCatalog({
    sources: [fixedTools([echo, report, explode, waiting]), more],
    sandboxes: createNoSandboxes(),
    defaultSandbox: () => ({ name: "default", options: {} }),
  });
  return { tools, more, started: () => new Promise((resolve) => starts.push(resolve)), cleaned };
}

const annotations = { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false };

const echo = defineDataTool({
  name: "echo",
  title: "Echo",
  description: "Answers the text that it is given",
  toolset: "probe",
  annotations,
  input: z.strictObject({ text: z.string() }),
  output: z.object({ text: z.string() }),
  async run(_context, { text }) {
    return dataResult({ text });
  },
});

const report = defineTool({
  name: "report",
  title: "Report",
  description: "Reports progress once, then answers",
  toolset: "probe",
  annotations,
  input: z.strictObject({}),
  async run(context) {
    context.progress({ progress: 1, total: 2, message: "half way" });
    return textResult("done");
  },
});

const explode = defineTool({
  name: "explode",
  title: "Explode",
  description: "Has a bug",
  toolset: "probe",
  annotations,
  input: z.strictObject({}),
  async run() {
    throw new TypeError("a secret detail");
  },
});

function wait(onStart: (context: ToolContext) => void, onClean: () => void) {
  return defineTool({
    name: "wait",
    title: "Wait",
    description: "Runs until it is cancelled",
    toolset: "probe",
    annotations,
    input: z.strictObject({}),
    run(context) {
      return new Promise((_, reject) => {
        context.signal.addEventListener("abort", () => {
          onClean();
          reject(context.signal.reason);
        });
        onStart(context);
      });
    },
  });
}
