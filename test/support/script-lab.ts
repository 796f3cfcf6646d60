import * as z from "zod";
import { StoredApprovals } from "../../src/approvals/stored-approvals.ts";
import type { AuditedCall } from "../../src/audit/audit.ts";
import { type Catalog, type CatalogOptions, createCatalog } from "../../src/catalog/catalog.ts";
import type { CallOptions } from "../../src/catalog/catalog.ts";
import { fixedTools } from "../../src/catalog/tool-source.ts";
import { defineDataTool, defineTool, type Tool, type ToolContext, type ToolResult } from "../../src/catalog/tool.ts";
import { dataResult, textResult } from "../../src/catalog/tool-result.ts";
import { LOCAL, type Principal } from "../../src/sandbox/sandbox.ts";
import { createExecuteToolsScript } from "../../src/tools/code/script/execute-tools-script.ts";
import { callTool } from "../../src/tools/discovery/call-tool.ts";
import { describeToolTool } from "../../src/tools/discovery/describe-tool.ts";
import { searchTools } from "../../src/tools/discovery/search-tools.ts";
import { readResult } from "../../src/tools/results/read-result.ts";
import { userTools } from "../../src/tools/user-tools/user-tools.ts";
import { createTestTexts } from "./test-texts.ts";
import { openToolsLab, type ToolsLab } from "./tools-lab.ts";

const READS = { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false };
const WRITES = { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: false };

/** A home of real sandboxes in which scripts call tools. Disposing it ends them, and leaves nothing. */
export interface ScriptLab extends AsyncDisposable {
  readonly lab: ToolsLab;
  readonly catalog: Catalog;
  /** Of all calls, in the order of their ends. */
  readonly calls: AuditedCall[];
  /** Calls of tools of the server `memo` that have begun, and how many there were at once at most. */
  readonly begun: { readonly names: string[]; most: number; now: number };
  call(tool: string, args?: object, options?: Partial<CallOptions> & { readonly principal?: Principal }): Promise<ToolResult>;
  script(code: string, language?: string, more?: object): Promise<ToolResult>;
}

export async function openScriptLab(options: Partial<CatalogOptions> = {}): Promise<ScriptLab> {
  const lab = await openToolsLab();
  const texts = createTestTexts();
  const calls: AuditedCall[] = [];
  const begun = { names: [] as string[], most: 0, now: 0 };
  const counted = async <T>(name: string, work: () => Promise<T>): Promise<T> => {
    begun.names.push(name);
    begun.most = Math.max(begun.most, (begun.now += 1));
    try {
      return await work();
    } finally {
      begun.now -= 1;
    }
  };
  const script = createExecuteToolsScript({ runScript: lab.tools.runScript, config: { execTimeoutMs: 60_000 } });
  const own = [script, readResult, searchTools, describeToolTool, callTool];
  const managing = userTools({ life: async () => lab.tools, texts, agentPublish: true });
  const catalog = createCatalog({
    sources: [fixedTools([...own, ...managing, ...memoTools(counted)]), lab.tools.source],
    sandboxes: lab.sandboxes,
    defaultSandbox: () => ({ name: "default", options: {} }),
    approvals: new StoredApprovals(lab.path),
    audit: { assertWritable: () => undefined, record: (call) => void calls.push(call), written: async () => undefined },
    ...options,
  });
  const call: ScriptLab["call"] = (tool, args = {}, { principal = LOCAL, ...more } = {}) =>
    catalog.call(principal, tool, args, { signal: AbortSignal.timeout(110_000), ...more });
  return {
    lab,
    catalog,
    calls,
    begun,
    call,
    script: (code, language = "javascript", more = {}) => call("execute_tools_script", { code, language, ...more }),
    async [Symbol.asyncDispose]() {
      texts[Symbol.dispose]();
      await lab[Symbol.asyncDispose]();
    },
  };
}

type Counted = <T>(name: string, work: () => Promise<T>) => Promise<T>;

/** As a server named `memo` would bring them. */
function memoTools(counted: Counted): readonly Tool[] {
  const memo = (tool: Tool): Tool => ({
    ...tool,
    name: `mcp_memo_${tool.name.replaceAll("-", "_")}`,
    origin: "proxied",
    from: { server: "memo", tool: tool.name },
    toolset: "mcp",
    run: (context, args) => counted(tool.name, () => tool.run(context, args)),
  });
  const text = (name: string, run: (context: ToolContext) => Promise<string>, annotations = READS): Tool =>
    memo(
      defineTool({
        name,
        title: name,
        description: `Does ${name}`,
        toolset: "mcp",
        annotations,
        input: z.looseObject({}),
        run: async (context) => textResult(await run(context)),
      }),
    );
  const add = defineDataTool({
    name: "add",
    title: "Add",
    description: "Adds two numbers.\nAnd says */ what comes out",
    toolset: "mcp",
    annotations: READS,
    input: z.strictObject({ a: z.number().describe("The first"), b: z.number().optional() }),
    output: z.object({ sum: z.number() }),
    run: async (_context, { a, b = 0 }) => dataResult({ sum: a + b }),
  });
  const picture = memo({
    ...defineTool({
      name: "picture",
      title: "Picture",
      description: "A picture",
      toolset: "mcp",
      annotations: READS,
      input: z.strictObject({}),
      run: async () => textResult("", [{ type: "image", data: "aGk=", mimeType: "image/png" }]),
    }),
  });
  const together = gathered(8);
  return [
    memo(add),
    picture,
    text("say-hello", async () => "hello"),
    text("big", async () => "x".repeat(400_000)),
    text("who", async ({ clientId, principal }) => `${clientId ?? "none"} ${principal.id}`),
    text("ask", async (context) => String((await context.ask({ message: "?", form: add.output as never })).accepted)),
    text("write", async () => "written", WRITES),
    { ...text("merge", async () => "merged", WRITES), needsApproval: true },
    text("together", async ({ signal }) => together(signal)),
    text("hang", ({ signal }) => new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(signal.reason)))),
    memo({ ...defineTool({ ...failing, input: z.looseObject({}), run: async () => ({ ...textResult("it broke"), isError: true }) }) }),
  ];
}

const failing = { name: "fail", title: "Fail", description: "Fails", toolset: "mcp", annotations: READS };

/** Each call ends once so many are there at once. */
function gathered(most: number): (signal: AbortSignal) => Promise<string> {
  let release = (): void => undefined;
  let all = new Promise<void>((resolve) => (release = resolve));
  let count = 0;
  return async (signal) => {
    const mine = all;
    if ((count += 1) % most === 0) {
      release();
      all = new Promise((resolve) => (release = resolve));
    }
    await Promise.race([mine, new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(signal.reason)))]);
    return "gathered";
  };
}
