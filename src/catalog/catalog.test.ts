import { setImmediate as nextTurn } from "node:timers/promises";
import { expect, it, vi } from "vitest";
import * as z from "zod";
import { createOwnedTools } from "../../test/support/owned-tools.ts";
import { BelljarError } from "../errors.ts";
import type { Sandbox, SandboxInfo } from "../sandbox/sandbox.ts";
import { LOCAL } from "../sandbox/sandbox.ts";
import type { AuditedCall } from "../audit/audit.ts";
import type { CatalogOptions } from "./catalog.ts";
import { createCatalog } from "./catalog.ts";
import { fixedTools } from "./tool-source.ts";
import { createCallQuota } from "./call-quota.ts";
import type { Quota } from "./policy.ts";
import { UNCOUNTED } from "./policy.ts";
import type { Tool, ToolContent, ToolContext, ToolResult } from "./tool.ts";
import { defineDataTool } from "./tool.ts";
import { dataResult, textResult } from "./tool-result.ts";

const ANNOTATIONS = { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false };

/** Answers its `text`, after whatever `work` does. */
function echo(work: (context: ToolContext) => unknown = () => undefined): Tool {
  return defineDataTool({
    name: "echo_text",
    title: "Echo",
    description: "Answers the text",
    toolset: "test",
    annotations: ANNOTATIONS,
    input: z.strictObject({ text: z.string().max(100), count: z.number().optional() }),
    output: z.object({ text: z.string() }),
    async run(context, { text }) {
      await work(context);
      return dataResult({ text });
    },
  });
}

const NO_SANDBOXES: CatalogOptions["sandboxes"] = {
  get: () => Promise.reject(new BelljarError("SANDBOX_NOT_FOUND", "none")),
  getStarted: () => Promise.reject(new BelljarError("SANDBOX_NOT_FOUND", "none")),
  default: () => Promise.reject(new Error("unused")),
  info: () => Promise.reject(new BelljarError("SANDBOX_NOT_FOUND", "forgotten")),
};

function open(tool: Tool, options: Partial<CatalogOptions> = {}) {
  const calls: AuditedCall[] = [];
  const more = createOwnedTools();
  const catalog = createCatalog({
    sources: [fixedTools([tool]), more],
    sandboxes: NO_SANDBOXES,
    defaultSandbox: (_principal, { defaultName = "default" }) => ({ name: defaultName, options: {} }),
    audit: { assertWritable: () => undefined, record: (call) => calls.push(call), written: async () => undefined },
    ...options,
  });
  return { catalog, calls, more };
}

const signal = new AbortController().signal;

it("runs a tool with its own type of arguments", async () => {
  const { catalog, calls } = open(echo());
  const result = await catalog.call(LOCAL, "echo_text", { text: "hi" }, { signal });
  expect(result).toEqual({ value: { text: "hi" }, content: [{ type: "text", text: '{"text":"hi"}' }], structured: { text: "hi" } });
  expect(calls).toMatchObject([{ tool: "echo_text", arguments: { text: "hi" }, outcome: "ok", resultBytes: 13, principal: "local" }]);
});

it("rejects an unknown tool, and records that it was asked for", async () => {
  const { catalog, calls } = open(echo());
  await expect(catalog.call(LOCAL, "nope", {}, { signal })).rejects.toMatchObject({ code: "TOOL_NOT_FOUND" });
  expect(calls).toMatchObject([{ tool: "nope", outcome: "TOOL_NOT_FOUND", principal: "local" }]);
});

it("lists each bad field of the arguments", async () => {
  const { catalog, calls } = open(echo());
  const result = await catalog.call(LOCAL, "echo_text", { count: "many", other: 1 }, { signal });
  expect(result.isError).toBe(true);
  const text = JSON.stringify(result.content);
  expect(text).toContain("ARGUMENTS_INVALID: The arguments of echo_text are not valid:");
  for (const field of ["text: ", "count: ", "other"]) expect(text).toContain(field);
  expect(calls).toMatchObject([{ outcome: "ARGUMENTS_INVALID" }]);
});

it("checks no arguments that hold more values than any call means", async () => {
  const { catalog } = open(echo());
  const result = await catalog.call(LOCAL, "echo_text", { text: Array(10_000).fill(0) }, { signal });
  expect(JSON.stringify(result.content)).toContain("ARGUMENTS_INVALID: The arguments of echo_text hold more than 10000 values");
});

it("answers a foreseen failure with its code and message", async () => {
  const fail = () => {
    throw new BelljarError("QUOTA_EXCEEDED", "Too many; wait");
  };
  const { catalog, calls } = open(echo(fail));
  const result = await catalog.call(LOCAL, "echo_text", { text: "" }, { signal });
  expect(result).toEqual({
    value: { code: "QUOTA_EXCEEDED", message: "Too many; wait", retryable: true },
    content: [{ type: "text", text: "QUOTA_EXCEEDED: Too many; wait\nThe same call may succeed later." }],
    isError: true,
  });
  expect(calls).toMatchObject([{ outcome: "QUOTA_EXCEEDED" }]);
});

it.each([
  ["an unforeseen failure", new Error("secret detail")],
  ["a failure that is named as our own", new BelljarError("INTERNAL", "secret detail")],
])("tells a caller nothing of %s but the request that the log names", async (_what, failure) => {
  const log = { error: vi.fn() };
  const { catalog, calls } = open(
    echo(() => Promise.reject(failure)),
    { log },
  );
  const result = await catalog.call(LOCAL, "echo_text", { text: "" }, { signal });
  const requestId = calls[0]?.requestId ?? "";
  expect(log.error).toHaveBeenCalledWith({ err: failure, requestId, tool: "echo_text" }, expect.any(String));
  expect(JSON.stringify(result)).not.toContain("secret detail");
  expect(JSON.stringify(result)).toContain(requestId);
  expect(result.isError).toBe(true);
});

it.each([
  ["the reason of the cancellation", (reason: unknown) => reason, "CANCELLED: The call was cancelled"],
  ["an error of an aborted call", () => new DOMException("aborted", "AbortError"), "CANCELLED: The call was cancelled"],
  ["another failure meanwhile", () => new TypeError("a bug"), "INTERNAL"],
])("takes %s for what it is", async (_what, failure, text) => {
  const controller = new AbortController();
  const { catalog } = open(
    echo(() => {
      controller.abort(new Error("enough"));
      throw failure(controller.signal.reason);
    }),
  );
  const result = await catalog.call(LOCAL, "echo_text", { text: "" }, { signal: controller.signal });
  expect(JSON.stringify(result.content)).toContain(text);
  expect(result.isError).toBe(true);
});

it("does not run a tool for a caller that has gone", async () => {
  const work = vi.fn();
  const { catalog } = open(echo(work));
  const result = await catalog.call(LOCAL, "echo_text", { text: "" }, { signal: AbortSignal.abort("gone") });
  expect(result.content).toEqual([{ type: "text", text: "CANCELLED: The call was cancelled" }]);
  expect(work).not.toHaveBeenCalled();
});

it("asks the policy before the quota, and both before it looks at the arguments", async () => {
  const steps: string[] = [];
  const { catalog } = open(
    echo(() => steps.push("run")),
    {
      policy: { authorise: () => void steps.push("authorise") },
      quota: { enter: () => (steps.push("enter"), { ...UNCOUNTED, [Symbol.dispose]: () => void steps.push("leave") }) },
    },
  );
  await catalog.call(LOCAL, "echo_text", {}, { signal });
  expect(steps).toEqual(["authorise", "enter", "leave"]);
  await catalog.call(LOCAL, "echo_text", { text: "" }, { signal });
  expect(steps.slice(3)).toEqual(["authorise", "enter", "run", "leave"]);
});

it("runs nothing that the policy forbids", async () => {
  const work = vi.fn();
  const forbid = () => {
    throw new BelljarError("FORBIDDEN", "Ask the owner");
  };
  const { catalog, calls } = open(echo(work), { policy: { authorise: forbid } });
  expect(await catalog.call(LOCAL, "echo_text", { text: "" }, { signal })).toMatchObject({ isError: true });
  expect(work).not.toHaveBeenCalled();
  expect(calls).toMatchObject([{ outcome: "FORBIDDEN" }]);
});

it("runs nothing while the audit cannot be written", async () => {
  const work = vi.fn();
  const refuse = () => {
    throw new BelljarError("AUDIT_FAILED", "No space");
  };
  const { catalog } = open(echo(work), { audit: { assertWritable: refuse, record: () => undefined, written: async () => undefined } });
  expect(await catalog.call(LOCAL, "echo_text", { text: "" }, { signal })).toMatchObject({ isError: true });
  expect(work).not.toHaveBeenCalled();
});

it("answers a call only when its line is written", async () => {
  const order: string[] = [];
  const written = async (): Promise<void> => {
    await nextTurn();
    order.push("written");
  };
  const { catalog } = open(echo(), {
    audit: { assertWritable: () => undefined, record: () => void order.push("recorded"), written },
  });
  await catalog.call(LOCAL, "echo_text", { text: "" }, { signal });
  order.push("answered");
  await nextTurn();
  expect(order).toEqual(["recorded", "written", "answered"]);
});

it("cuts a long text at a line's end and says so", async () => {
  const tool = { ...echo(), run: () => Promise.resolve(textResult("1234\n5678\n9")) };
  const { catalog } = open(tool, { limits: { textBytes: 10 } });
  const result = await catalog.call(LOCAL, "echo_text", { text: "" }, { signal });
  expect(result.content).toEqual([
    { type: "text", text: "1234\n5678\n" },
    { type: "text", text: expect.stringMatching(/^\[Cut: 10 of 11 bytes of text are shown\. .*belljar:\/\/results\/\w+\?offset=10"\}\]$/) },
  ]);
  const [kept] = catalog.results.list(LOCAL);
  expect(catalog.results.read(LOCAL, kept?.id ?? "", { offset: 10 })).toEqual({ text: "9", offset: 10, bytes: 1, total: 11 });
});

it("keeps a structure that is too long to answer, and says that the call was made", async () => {
  const rows = { rows: Array.from({ length: 50 }, (_, index) => ({ index })) };
  const tool = { ...echo(), run: () => Promise.resolve(dataResult(rows)) };
  const { catalog, calls } = open(tool, { limits: { structureCharacters: 40 } });
  const result = await catalog.call(LOCAL, "echo_text", { text: "" }, { signal });
  const [kept] = catalog.results.list(LOCAL);
  const text = expect.stringMatching(/^RESULT_TOO_LARGE: .* 40 characters: .* uri belljar:\/\/results\/\w+\. The call was made/);
  expect(result).toMatchObject({ value: { code: "RESULT_TOO_LARGE" }, content: [{ type: "text", text }], isError: true });
  expect(JSON.parse(catalog.results.read(LOCAL, kept?.id ?? "", {}).text)).toEqual(rows);
  expect(calls).toMatchObject([{ outcome: "RESULT_TOO_LARGE" }]);
});

const DATA = "A".repeat(1_000);
const IMAGE: ToolContent = { type: "image", data: DATA, mimeType: "image/png" };
const LINK: ToolContent = { type: "resource_link", uri: "file:///a", name: "a", description: DATA };
const TEXT: ToolContent = { type: "text", text: DATA };

it.each([
  ["text", textResult(DATA), 1],
  ["an image", { value: null, content: [IMAGE] }, 1],
  ["text and an image", { value: null, content: [TEXT, IMAGE] }, 2],
  ["audio", { value: null, content: [{ ...IMAGE, type: "audio" }] }, 1],
  ["an embedded text", { value: null, content: [{ type: "resource", resource: { uri: "file:///a", text: DATA } }] }, 1],
  ["embedded bytes", { value: null, content: [{ type: "resource", resource: { uri: "file:///a", blob: DATA } }] }, 1],
  ["a link", { value: null, content: [LINK] }, 1],
  ["data", dataResult({ rows: [DATA] }), 1],
  ["structure without content", { value: null, content: [], structured: { rows: [DATA] } }, 1],
  ["a value that is shown to no model", { value: { rows: [DATA] }, content: [] }, 1],
] satisfies [string, ToolResult, number][])("counts %s against the caller's quota, and in the audit", async (_what, result, thousands) => {
  const tool = { ...echo(), run: () => Promise.resolve(result) };
  const counted: number[] = [];
  const quota: Quota = { enter: () => ({ ...UNCOUNTED, count: (bytes) => void counted.push(bytes) }) };
  const { catalog, calls } = open(tool, { quota });
  await catalog.call(LOCAL, "echo_text", { text: "" }, { signal });
  expect(Math.floor((counted[0] ?? 0) / 1_000)).toBe(thousands);
  expect(calls).toMatchObject([{ outcome: "ok", resultBytes: counted[0] }]);
});

it("refuses the next call once the results of a minute are used up", async () => {
  const quota = createCallQuota({ defaults: { outputBytesPerMinute: 100 } });
  const { catalog } = open({ ...echo(), run: () => Promise.resolve({ value: null, content: [IMAGE] }) }, { quota });
  const call = () => catalog.call(LOCAL, "echo_text", { text: "" }, { signal });
  expect((await call()).isError).toBeUndefined();
  expect(await call()).toMatchObject({ isError: true, content: [{ text: expect.stringMatching(/^QUOTA_EXCEEDED/) }] });
});

it("passes progress on", async () => {
  const progress = vi.fn();
  const { catalog } = open(echo((context) => context.progress({ progress: 1, total: 2, message: "half" })));
  await catalog.call(LOCAL, "echo_text", { text: "" }, { signal, progress });
  expect(progress).toHaveBeenCalledWith({ progress: 1, total: 2, message: "half" });
});

it("says first that the default sandbox is a new one, only when an earlier one was used", async () => {
  let id = "first";
  const { catalog } = open(
    echo((context) => context.sandbox()),
    {
      sandboxes: {
        ...NO_SANDBOXES,
        default: () => Promise.resolve({ sandbox: { id } as Sandbox, created: true }),
      },
    },
  );
  const call = () => catalog.call(LOCAL, "echo_text", { text: "hi" }, { signal });
  expect((await call()).content).toHaveLength(1);
  expect((await call()).content).toHaveLength(1);
  id = "second";
  expect((await call()).content[0]).toMatchObject({ text: expect.stringMatching(/^\{"note":"Note: this is a new sandbox/) });
  expect((await call()).content).toHaveLength(1);
});

it("says at the first use what became of the sandbox before it, also in the result of a call that fails, and to each client once", async () => {
  const endedAt = new Date("2026-01-02T03:04:05Z");
  const infoOf = vi.fn(async () => ({ endReason: "deadline", endedAt }) as SandboxInfo);
  let [id, earlier] = ["second", "first" as string | undefined];
  const { catalog } = open(
    echo(async (context) => {
      await context.sandbox();
      throw new BelljarError("FILE_NOT_FOUND", "No file");
    }),
    {
      sandboxes: {
        ...NO_SANDBOXES,
        default: async () => ({ sandbox: { id } as Sandbox, created: earlier !== undefined, ...(earlier !== undefined && { earlier }) }),
        info: infoOf,
      },
    },
  );
  const clients = ["one", "two"].map((name) => ({ id: name, ask: () => Promise.reject(new Error("unused")) }));
  const texts = async (client = clients[0]) => {
    const { content } = await catalog.call(LOCAL, "echo_text", { text: "hi" }, { signal, ...(client && { client }) });
    return content.map((block) => (block.type === "text" ? block.text : ""));
  };
  expect(await texts()).toEqual([expect.stringContaining("ended at 2026-01-02T03:04:05Z: nobody"), "FILE_NOT_FOUND: No file"]);
  expect(infoOf).toHaveBeenCalledWith(LOCAL, "first");
  expect(await texts()).toEqual(["FILE_NOT_FOUND: No file"]);
  earlier = undefined;
  expect(await texts(clients[1])).toEqual(["FILE_NOT_FOUND: No file"]);
  id = "third";
  for (const client of clients) {
    expect(await texts(client)).toHaveLength(2);
    expect(await texts(client)).toHaveLength(1);
  }
});

it("introduces a default sandbox with its first result, and gives advice on a file that is not there", async () => {
  let isThere = true;
  const { catalog } = open(
    echo(async (context) => {
      await context.sandbox();
      if (!isThere) throw new BelljarError("FILE_NOT_FOUND", "No file /home/ada/a");
    }),
    {
      sandboxes: { ...NO_SANDBOXES, default: async () => ({ sandbox: { id: "box" } as Sandbox, created: true }) },
      surroundings: {
        introduce: async ({ id }) => [`Files: of ${id}.`, "Network: none."],
        findHostHint: async ({ id }, args, message) => `${id} ${JSON.stringify(args)} ${message}`,
      },
    },
  );
  const call = () => catalog.call(LOCAL, "echo_text", { text: "hi" }, { signal });
  expect((await call()).structured).toEqual({ note: "Files: of box.\nNetwork: none.", text: "hi" });
  expect((await call()).structured).toEqual({ text: "hi" });
  isThere = false;
  expect((await call()).content).toEqual([
    { type: "text", text: 'FILE_NOT_FOUND: No file /home/ada/a. box {"text":"hi"} No file /home/ada/a' },
  ]);
});

it("says it once, and in the structure too, where a nested call used the new sandbox", async () => {
  const inner = echo((context) => context.sandbox());
  const outer = defineDataTool({
    name: "outer_tool",
    title: "Outer",
    description: "Calls the other one and answers by itself",
    toolset: "test",
    annotations: ANNOTATIONS,
    input: z.strictObject({}),
    output: z.object({ inner: z.unknown() }),
    async run(context) {
      const { content } = await context.call("echo_text", { text: "hi" });
      return dataResult({ inner: content });
    },
  });
  const { catalog } = open(inner, {
    sources: [fixedTools([inner, outer])],
    sandboxes: { ...NO_SANDBOXES, default: async () => ({ sandbox: { id: "second" } as Sandbox, created: true, earlier: "first" }) },
  });
  const note = expect.stringMatching(/^Note: this is a new sandbox/);
  expect(await catalog.call(LOCAL, "outer_tool", {}, { signal })).toEqual({
    value: { inner: [{ type: "text", text: '{"text":"hi"}' }] },
    content: [{ type: "text", text: expect.stringMatching(/^\{"note":"Note: this is a new sandbox.*,"inner":\[/) }],
    structured: { note, inner: [{ type: "text", text: '{"text":"hi"}' }] },
  });
  const { outputSchema } = catalog.list(LOCAL).find(({ name }) => name === "outer_tool") ?? {};
  expect(outputSchema).not.toHaveProperty("additionalProperties");
});

it("keeps the default sandboxes of two names apart", async () => {
  const names: string[] = [];
  const { catalog } = open(
    echo((context) => context.sandbox()),
    {
      sandboxes: {
        ...NO_SANDBOXES,
        default: (_principal, name) => (names.push(name), Promise.resolve({ sandbox: { id: name } as Sandbox, created: true })),
      },
    },
  );
  for (const defaultName of ["a", "b"]) {
    expect((await catalog.call(LOCAL, "echo_text", { text: "" }, { signal, defaultName })).content).toHaveLength(1);
  }
  expect(names).toEqual(["a", "b"]);
});

it("notes under each sandbox the calls that worked in it, without their secrets", async () => {
  const { catalog, calls } = open(
    echo((context) => context.sandbox()),
    {
      sandboxes: {
        ...NO_SANDBOXES,
        default: () => Promise.resolve({ sandbox: { id: "box" } as Sandbox, created: true }),
      },
    },
  );
  await catalog.call(LOCAL, "echo_text", { text: "hi" }, { signal });
  expect(calls).toMatchObject([{ tool: "echo_text", sandbox: "box" }]);
  expect(catalog.sandboxLog.lines("box")).toEqual([expect.stringMatching(/^\S+Z echo_text ok \d+ ms \{"text":"hi"\}$/)]);
  expect(catalog.sandboxLog.lines("other")).toEqual([]);
});

it("answers an id of somebody else's as the domain does", async () => {
  const { catalog } = open(echo((context) => context.sandbox("other")));
  const result = await catalog.call(LOCAL, "echo_text", { text: "" }, { signal });
  expect(result.content).toEqual([{ type: "text", text: "SANDBOX_NOT_FOUND: none" }]);
});

it("describes tools by JSON Schema without a dialect that older clients refuse", () => {
  const { catalog } = open(echo());
  const [tool] = catalog.list(LOCAL);
  expect(tool).toMatchObject({
    name: "echo_text",
    inputSchema: {
      type: "object",
      required: ["text"],
      additionalProperties: false,
      properties: { text: { type: "string" } },
    },
    outputSchema: { type: "object", required: ["text"] },
    annotations: { title: "Echo", readOnlyHint: true },
  });
  expect(JSON.stringify(tool)).not.toContain("$schema");
});

it("serialises the list once per change", () => {
  const { catalog, more } = open(echo());
  const changes = vi.fn();
  const stop = catalog.onChange(changes);
  const { bytes } = catalog.listPage(LOCAL);
  expect(JSON.parse(bytes.toString())).toEqual(catalog.list(LOCAL));
  expect(catalog.listPage(LOCAL).bytes).toBe(bytes);
  more.set([{ ...echo(), name: "echo_more" }]);
  expect(catalog.list(LOCAL).map(({ name }) => name)).toEqual(["echo_text", "echo_more"]);
  more.set([]);
  expect(catalog.listPage(LOCAL).bytes).toEqual(bytes);
  expect(changes).toHaveBeenCalledTimes(2);
  stop();
  more.set([{ ...echo(), name: "echo_more" }]);
  expect(changes).toHaveBeenCalledTimes(2);
});

it("gives a long list in pages, and refuses a cursor that it did not give", () => {
  const { catalog, more } = open(echo(), { scope: () => ({ toolsets: "all" }) });
  more.set(Array.from({ length: 1_500 }, (_, index) => ({ ...echo(), name: `echo_${index}` })));
  const first = catalog.listPage(LOCAL);
  expect(JSON.parse(first.bytes.toString())).toHaveLength(1_000);
  const second = catalog.listPage(LOCAL, first.nextCursor);
  expect(JSON.parse(second.bytes.toString())).toHaveLength(501);
  expect(second.nextCursor).toBeUndefined();
  for (const cursor of ["2", "x", "-1", ""]) expect(() => catalog.listPage(LOCAL, cursor)).toThrowError(/cursor is unknown/);
});

it.each([
  ["a name that is taken", [echo(), echo()], /There is a tool "echo_text" already/],
  ["a name that clients do not take", [{ ...echo(), name: "a b" }], /must match/],
  ["a description that hosts cut", [{ ...echo(), description: "x".repeat(2_048) }], /2048 characters or more/],
])("refuses %s", (_what, tools, message) => {
  expect(() => fixedTools(tools)).toThrowError(message);
});
