import { expect, it } from "vitest";
import * as z from "zod";
import type { AuditedCall } from "../audit/audit.ts";
import { BelljarError } from "../errors.ts";
import { LOCAL, type Sandbox } from "../sandbox/sandbox.ts";
import { createCatalog, type CallOptions, type CatalogOptions } from "./catalog.ts";
import { fixedTools } from "./tool-source.ts";
import { defineTool, type Tool, type ToolContext } from "./tool.ts";
import { textResult } from "./tool-result.ts";

const { signal } = new AbortController();

/** A tool that answers "done" after whatever `work` does. */
function doing(name: string, work: (context: ToolContext) => unknown, more: Partial<Tool> & { readonly openWorld?: boolean } = {}): Tool {
  const { openWorld = false, ...rest } = more;
  const tool = defineTool({
    name,
    title: name,
    description: "",
    toolset: "test",
    annotations: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: openWorld },
    input: z.object({ path: z.string().optional() }),
    run: async (context) => {
      await work(context);
      return textResult("done");
    },
  });
  return { ...tool, ...rest };
}

/** A sandbox that was refused these places meanwhile. `watched` counts those that look, and those that have stopped. */
function sandboxOf(refused: readonly string[] | Error) {
  const watched = { opened: 0, closed: 0 };
  const tell = async (): Promise<readonly string[]> => {
    if (refused instanceof Error) throw refused;
    return refused;
  };
  const watchRefusals = async () => {
    watched.opened += 1;
    return { tell, [Symbol.dispose]: () => void (watched.closed += 1) };
  };
  return { watched, sandbox: { id: "a".repeat(20), watchRefusals } as Partial<Sandbox> as Sandbox };
}

function open(sandbox: Sandbox, tools: readonly Tool[], options: Partial<CatalogOptions> = {}) {
  const calls: AuditedCall[] = [];
  const catalog = createCatalog({
    sources: [fixedTools(tools)],
    sandboxes: {
      get: async () => sandbox,
      getStarted: async () => ({ sandbox }),
      default: async () => ({ sandbox, created: false }),
      info: () => Promise.reject(new Error("unused")),
    },
    defaultSandbox: () => ({ name: "default", options: {} }),
    audit: { assertWritable: () => undefined, record: (call) => calls.push(call), written: async () => undefined },
    ...options,
  });
  const call = (name: string, args: unknown = {}, more: Partial<CallOptions> = {}) => catalog.call(LOCAL, name, args, { signal, ...more });
  const textsOf = async (...given: Parameters<typeof call>) =>
    (await call(...given)).content.map((block) => (block.type === "text" ? block.text : block.type));
  return { catalog, calls, call, textsOf };
}

const useSandbox = (context: ToolContext) => context.sandbox();

it("says first what the sandbox's network refused to a tool that runs programs", async () => {
  const { sandbox, watched } = sandboxOf(["refused a", "allow it so"]);
  const tools = [
    doing("web", useSandbox, { openWorld: true }),
    doing("tells", useSandbox, { tellsRefusals: true }),
    doing("plain", useSandbox),
  ];
  const { textsOf } = open(sandbox, tools);
  for (const name of ["web", "tells"]) expect(await textsOf(name)).toEqual(["refused a\nallow it so", "done"]);
  expect(watched).toEqual({ opened: 2, closed: 2 });
  expect(await textsOf("plain")).toEqual(["done"]);
  expect(watched.opened).toBe(2);
});

it("watches a sandbox that a call asks for twice once", async () => {
  const { sandbox, watched } = sandboxOf(["refused a"]);
  const twice = async (context: ToolContext) => [await context.sandbox(), await context.sandbox("other")];
  expect(await open(sandbox, [doing("web", twice, { openWorld: true })]).textsOf("web")).toEqual(["refused a", "done"]);
  expect(watched).toEqual({ opened: 1, closed: 1 });
});

it("says what was refused once: not beside an error that says it, but beside any other", async () => {
  const { sandbox, watched } = sandboxOf(["refused a"]);
  const failing = (code: "NETWORK_DENIED" | "COMMAND_FAILED") =>
    doing(code, async (context) => (await context.sandbox(), Promise.reject(new BelljarError(code, "no"))), { openWorld: true });
  const { textsOf } = open(sandbox, [failing("NETWORK_DENIED"), failing("COMMAND_FAILED")]);
  expect(await textsOf("NETWORK_DENIED")).toEqual([expect.stringContaining("NETWORK_DENIED: no")]);
  expect(await textsOf("COMMAND_FAILED")).toEqual(["refused a", expect.stringContaining("COMMAND_FAILED: no")]);
  expect(watched).toEqual({ opened: 2, closed: 2 });
});

it("gives the result though nobody can tell what was refused, or nothing was", async () => {
  const tool = doing("web", useSandbox, { openWorld: true });
  for (const told of [new Error("gone"), []]) expect(await open(sandboxOf(told).sandbox, [tool]).textsOf("web")).toEqual(["done"]);
  const stopped = { id: "s", watchRefusals: () => Promise.reject(new Error("stopped")) } as Partial<Sandbox> as Sandbox;
  expect(await open(stopped, [tool]).textsOf("web")).toEqual(["done"]);
});

it("lets a call be nested eight deep, and no deeper", async () => {
  const depths: number[] = [];
  const results: unknown[] = [];
  const inner = doing("again", async (context) => {
    depths.push(depths.length);
    results.push(await context.call("again", {}));
  });
  const { call, calls } = open(sandboxOf([]).sandbox, [inner]);
  await call("again");
  expect(depths).toHaveLength(9);
  expect(calls.map(({ outcome }) => outcome).slice(0, 1)).toEqual(["FORBIDDEN"]);
});

it("passes what a tool logs and how far it is to the caller", async () => {
  const told: unknown[] = [];
  const tool = doing("talks", (context) => {
    context.log("warning", "careful");
    context.progress({ progress: 1, total: 2 });
  });
  await open(sandboxOf([]).sandbox, [tool]).call(
    "talks",
    {},
    {
      log: (level, message) => told.push([level, message]),
      progress: (progress) => told.push(progress),
    },
  );
  expect(told).toEqual([["warning", "careful"], { progress: 1, total: 2 }]);
});

it("logs and shows what a model must know of a new sandbox", async () => {
  const told: unknown[] = [];
  const surroundings = { introduce: async () => ["its own files"], findHostHint: async () => undefined };
  const { call } = open(sandboxOf([]).sandbox, [doing("plain", useSandbox)], { surroundings });
  const { content } = await call("plain", {}, { log: (level, message) => told.push([level, message]) });
  expect(content[0]).toEqual({ type: "text", text: "its own files" });
  expect(told).toEqual([["notice", "its own files"]]);
});

it("gives advice on a file that is not there, if the call has used a sandbox and there is any to give", async () => {
  const missing = (code: "FILE_NOT_FOUND" | "FILE_DENIED", uses: boolean) =>
    doing(uses ? code : "nowhere", async (context) => {
      if (uses) await context.sandbox();
      throw new BelljarError(code, "No such file: /home/ada/a");
    });
  const asked: unknown[] = [];
  let hint: string | undefined = "it is on the host";
  const surroundings = {
    introduce: async () => [],
    findHostHint: async (_sandbox: Sandbox, args: unknown, message: string) => (asked.push([args, message]), hint),
  };
  const tools = [missing("FILE_NOT_FOUND", true), missing("FILE_DENIED", true), missing("FILE_NOT_FOUND", false)];
  const { textsOf } = open(sandboxOf([]).sandbox, tools, { surroundings });
  const args = { path: "/home/ada/a" };
  expect(await textsOf("FILE_NOT_FOUND", args)).toEqual(["FILE_NOT_FOUND: No such file: /home/ada/a. it is on the host"]);
  expect(asked).toEqual([[args, "No such file: /home/ada/a"]]);
  for (const name of ["FILE_DENIED", "nowhere"]) expect((await textsOf(name, args))[0]).not.toContain("it is on the host");
  hint = undefined;
  expect(await textsOf("FILE_NOT_FOUND", args)).toEqual(["FILE_NOT_FOUND: No such file: /home/ada/a"]);
});

it.each<readonly [string, boolean, (reason: unknown) => unknown, string]>([
  ["what the caller cancelled", true, (reason) => reason, "CANCELLED"],
  ["what was aborted by it", true, () => Object.assign(new Error("aborted"), { name: "AbortError" }), "CANCELLED"],
  ["a failure that came meanwhile", true, () => new Error("ours"), "INTERNAL"],
  ["what aborted by itself", false, () => Object.assign(new Error("aborted"), { name: "AbortError" }), "INTERNAL"],
])("tells %s from other failures", async (_, isCancelled, toError, code) => {
  const controller = new AbortController();
  const tool = doing("fails", () => {
    if (isCancelled) controller.abort(new Error("the client has gone"));
    return Promise.reject(toError(controller.signal.reason));
  });
  const { call, calls } = open(sandboxOf([]).sandbox, [tool]);
  expect((await call("fails", {}, { signal: controller.signal })).value).toMatchObject({ code });
  expect(calls).toMatchObject([{ outcome: code }]);
});

it("runs nothing for a caller that has gone before", async () => {
  let hasRun = false;
  const { call } = open(sandboxOf([]).sandbox, [doing("runs", () => (hasRun = true))]);
  expect((await call("runs", {}, { signal: AbortSignal.abort() })).value).toMatchObject({ code: "CANCELLED" });
  expect(hasRun).toBe(false);
});
