import { narrowScope } from "./narrow-scope.ts";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import { BelljarError } from "../errors.ts";
import { LOCAL } from "../sandbox/sandbox.ts";
import type { AuditedCall } from "../audit/audit.ts";
import type { CatalogOptions } from "./catalog.ts";
import { createCatalog } from "./catalog.ts";
import { createOwnedTools } from "../../test/support/owned-tools.ts";
import { scopeKey } from "./tool-scope.ts";
import { fixedTools } from "./tool-source.ts";
import type { Tool } from "./tool.ts";
import { defineTool } from "./tool.ts";
import { textResult } from "./tool-result.ts";
import { isDefaultTool } from "../tools/toolsets.ts";
import { callTool } from "../tools/discovery/call-tool.ts";
import { describeToolTool } from "../tools/discovery/describe-tool.ts";
import { searchTools } from "../tools/discovery/search-tools.ts";

const signal = new AbortController().signal;
const DISCOVERY = ["search_tools", "describe_tool", "call_tool"];

function tool(name: string, toolset: string, { reads = false, more = {} }: { reads?: boolean; more?: Partial<Tool> } = {}): Tool {
  return {
    ...defineTool({
      name,
      title: name.replaceAll("_", " "),
      description: `The tool for ${name}. More about it.`,
      toolset,
      annotations: { readOnlyHint: reads, destructiveHint: !reads, idempotentHint: false, openWorldHint: false },
      input: z.strictObject({ text: z.string().optional() }),
      run: async (_context, { text = "" }) => textResult(`${name} ran ${text}`),
    }),
    ...more,
  };
}

function open(tools: readonly Tool[], scope: ReturnType<NonNullable<CatalogOptions["scope"]>> = {}, assertWritable = () => {}) {
  const audited: AuditedCall[] = [];
  const more = createOwnedTools();
  const refuse = () => Promise.reject(new BelljarError("SANDBOX_NOT_FOUND", "none"));
  const catalog = createCatalog({
    sources: [fixedTools([...tools, searchTools, describeToolTool, callTool]), more],
    sandboxes: { get: refuse, getStarted: refuse, default: refuse, info: refuse },
    defaultSandbox: () => ({ name: "default", options: {} }),
    scope: () => scope,
    isDefault: isDefaultTool,
    audit: { assertWritable, record: (call) => void audited.push(call), written: async () => undefined },
  });
  const names = () => catalog.list(LOCAL).map(({ name }) => name);
  const call = (name: string, args: unknown) => catalog.call(LOCAL, name, args, { signal });
  return { catalog, names, call, audited, more };
}

const FEW = [tool("read_file", "files", { reads: true }), tool("write_file", "files"), tool("git_commit", "git")];

describe("a list", () => {
  it("shows beside other servers' tools what is for them, and not without them", () => {
    const script = tool("script", "code", { more: { shownBeside: "proxied" } });
    expect(open([...FEW, script]).names()).not.toContain("script");
    const proxied = tool("far", "mcp", { more: { origin: "proxied" } });
    expect(open([...FEW, script, proxied]).names()).toContain("script");
    expect(open([...FEW, script, proxied], { readOnly: true }).names(), "a caller who has none of them").not.toContain("script");
  });

  it("leaves what is for searches out of a list of toolsets too", () => {
    const far = tool("far", "mcp", { more: { origin: "proxied" } });
    const beyond = tool("beyond", "mcp", { more: { origin: "proxied", isUnlisted: true } });
    expect(open([...FEW, far, beyond], { toolsets: ["git"] }).names()).toEqual(["git_commit", "far", ...DISCOVERY]);
  });

  it("has for a caller that only reads what calls tools alone, as something that reads", () => {
    const script = tool("script", "code", { more: { callsTools: true } });
    const { catalog, names } = open([...FEW, script], { readOnly: true, toolsets: "all" });
    expect(names()).toEqual(["read_file", "script"]);
    expect(catalog.list(LOCAL)[1]?.annotations).toMatchObject({ readOnlyHint: true, destructiveHint: false });
  });

  it("shows the default toolsets, and how to reach the rest", () => {
    expect(open(FEW).names()).toEqual(["read_file", "write_file", ...DISCOVERY]);
  });

  it("shows no tools that find others when nothing is left to find", () => {
    expect(open(FEW.slice(0, 2)).names()).toEqual(["read_file", "write_file"]);
  });

  it("shows the toolsets that were named, and only those", () => {
    expect(open(FEW, { toolsets: ["git"] }).names()).toEqual(["git_commit"]);
  });

  it("shows with any toolset what its results rely on", () => {
    const support = tool("read_rest", "rest", { reads: true, more: { role: "support" } });
    expect(open([...FEW, support], { toolsets: ["git"] }).names()).toEqual(["git_commit", "read_rest"]);
  });

  it("shows everything to whoever asks for all", () => {
    expect(open(FEW, { toolsets: "all" }).names()).toEqual(["read_file", "write_file", "git_commit"]);
  });

  it("shows only what reads when no more is allowed", () => {
    const { catalog, names } = open([...FEW, tool("git_status", "git", { reads: true })], { readOnly: true });
    expect(names()).toEqual(["read_file", ...DISCOVERY]);
    expect(catalog.list(LOCAL).every(({ annotations }) => annotations.readOnlyHint)).toBe(true);
  });

  it("shows tools of others on top, 128 in all, and leaves the rest to be found", () => {
    const many = Array.from({ length: 200 }, (_, index) => tool(`own_${index}`, "weather", { more: { origin: "dynamic" } }));
    const { catalog, names } = open([...FEW, ...many], { toolsets: ["files"] });
    expect(names()).toHaveLength(128);
    expect(names().slice(0, 3)).toEqual(["read_file", "write_file", "own_0"]);
    expect(names().slice(-3)).toEqual(DISCOVERY);
    expect(catalog.listAll(LOCAL)).toHaveLength(2 + 200 + 3);
  });
});

describe("a tool that is switched off", () => {
  it.each([
    [{ readOnly: true }, "write_file"],
    [{ toolsets: ["files"] }, "git_commit"],
  ])("is not run, by its name or by another's: %j", async (scope, name) => {
    const { call, audited } = open(FEW, scope);
    for (const result of [await call(name, {}), await call("call_tool", { name })]) {
      expect(result).toMatchObject({ isError: true, content: [{ text: expect.stringContaining("FORBIDDEN") }] });
    }
    expect(audited).toMatchObject([
      { tool: name, outcome: "FORBIDDEN" },
      { tool: name, outcome: "FORBIDDEN" },
      { tool: "call_tool", outcome: "error" },
    ]);
  });

  it("is not found", async () => {
    const { call } = open(FEW, { readOnly: true });
    expect((await call("search_tools", { query: "write file" })).structured).toMatchObject({
      tools: [{ name: "read_file" }],
    });
    expect(await call("describe_tool", { name: "write_file" })).toMatchObject({ isError: true });
  });
});

describe("call_tool", () => {
  it("runs a tool that is not listed, and the audit names both and counts the result once", async () => {
    const { call, audited } = open(FEW);
    expect(await call("call_tool", { name: "git_commit", arguments: { text: "now" } })).toEqual(textResult("git_commit ran now"));
    const [inner, outer] = audited;
    expect(inner).toMatchObject({ tool: "git_commit", arguments: { text: "now" }, outcome: "ok", parent: outer?.requestId });
    expect(outer).toMatchObject({ tool: "call_tool", outcome: "ok", resultBytes: 0 });
    expect(inner?.resultBytes).toBeGreaterThan(0);
  });

  it("answers an unknown name and itself with what a model can act on", async () => {
    const { call } = open(FEW);
    expect(await call("call_tool", { name: "nope" })).toMatchObject({
      isError: true,
      content: [{ text: expect.stringContaining("TOOL_NOT_FOUND") }],
    });
    expect(await call("call_tool", { name: "call_tool", arguments: { name: "call_tool" } })).toMatchObject({ isError: true });
  });

  it("reaches the tools that run while the audit cannot be written, and those alone", async () => {
    const unwritable = (): never => {
      throw new BelljarError("DISK_FULL", "No space");
    };
    const { call } = open([...FEW, tool("sandbox_kill", "sandbox", { more: { listsOrEnds: true } })], {}, unwritable);
    expect((await call("search_tools", { query: "sandbox kill" })).structured).toMatchObject({ tools: [{ name: "sandbox_kill" }] });
    expect((await call("describe_tool", { name: "sandbox_kill" })).isError).toBeUndefined();
    expect(await call("call_tool", { name: "sandbox_kill" })).toEqual(textResult("sandbox_kill ran "));
    expect(await call("call_tool", { name: "write_file" })).toMatchObject({ isError: true, value: { code: "DISK_FULL" } });
  });

  it("checks its own arguments and the tool's", async () => {
    const { call, audited } = open(FEW);
    expect(await call("call_tool", {})).toMatchObject({ isError: true, content: [{ text: expect.stringContaining("ARGUMENTS_INVALID") }] });
    expect(await call("call_tool", { name: "git_commit", arguments: { text: 5 } })).toMatchObject({
      isError: true,
      content: [{ text: expect.stringContaining("arguments of git_commit") }],
    });
    expect(audited.map((one) => one.tool)).toEqual(["call_tool", "git_commit", "call_tool"]);
  });
});

describe("search_tools", () => {
  const search = async (query: string, limit?: number) => {
    const { call } = open([...FEW, tool("list_directory", "files"), tool("git_push", "git")]);
    return (await call("search_tools", { query, ...(limit !== undefined && { limit }) })).structured as {
      tools: { name: string; summary: string; toolset: string }[];
      total: number;
    };
  };

  it("finds a tool by words of its name, its beginning, and with a slip", async () => {
    for (const query of ["commit", "comm", "comit git", "COMMIT"]) {
      expect((await search(query)).tools[0], query).toMatchObject({ name: "git_commit", summary: "The tool for git_commit." });
    }
  });

  it("ranks the tool whose name says it first", async () => {
    expect((await search("push to git")).tools.map(({ name }) => name).slice(0, 2)).toEqual(["git_push", "git_commit"]);
  });

  it("answers no more than it is asked for, and says how many there are", async () => {
    expect(await search("", 2)).toMatchObject({ tools: [{ name: "read_file" }, { name: "write_file" }], total: 5 });
    expect(await search("zebra")).toEqual({ tools: [], total: 0 });
  });

  it("finds what was added since, and no more what was taken away", async () => {
    const { more, call } = open(FEW);
    const found = async () => (await call("search_tools", { query: "weather" })).structured?.["total"];
    expect(await found()).toBe(0);
    more.set([tool("weather_now", "own", { more: { origin: "dynamic" } })]);
    expect(await found()).toBe(1);
    more.set([]);
    expect(await found()).toBe(0);
  });
});

it("describes a tool that is not listed by its schema", async () => {
  const { call } = open(FEW);
  const missing = await call("describe_tool", { name: "git_comit" });
  expect(missing).toMatchObject({ isError: true, content: [{ text: expect.stringMatching(/^TOOL_NOT_FOUND: No tool "git_comit"/) }] });
  expect((await call("describe_tool", { name: "git_commit" })).structured).toMatchObject({
    name: "git_commit",
    input_schema: { type: "object", properties: { text: { type: "string" } } },
    output_schema: null,
  });
});

it("narrows the server's scope by what a token grants, never wider", () => {
  expect(narrowScope({}, undefined)).toEqual({});
  expect(narrowScope({}, { toolsets: ["files"], readOnly: true })).toEqual({ toolsets: ["files"], granted: ["files"], readOnly: true });
  expect(narrowScope({ toolsets: "all" }, { toolsets: ["files"] })).toEqual({ toolsets: ["files"], granted: ["files"] });
  expect(narrowScope({ toolsets: ["files", "code"], readOnly: true }, { toolsets: ["files", "shell"] })).toEqual({
    toolsets: ["files"],
    granted: ["files", "shell"],
    readOnly: true,
  });
  expect(narrowScope({ toolsets: ["code"] }, { toolsets: ["files"] })).toEqual({ toolsets: [], granted: ["files"] });
});

it("leaves tools of others out too, when the token does not name their toolset", async () => {
  const own = tool("own_tool", "weather", { more: { origin: "dynamic" } });
  const refused = open([...FEW, own], narrowScope({}, { toolsets: ["files"] }));
  expect(refused.names()).toEqual(["read_file", "write_file"]);
  expect(await refused.call("own_tool", {})).toMatchObject({
    isError: true,
    content: [{ text: expect.stringContaining("toolset:weather") }],
  });
  expect(open([...FEW, own], narrowScope({}, { toolsets: ["weather"] })).names()).toEqual(["own_tool"]);
});

it("tells scopes apart that show other tools", () => {
  const scopes = [
    {},
    { toolsets: [] },
    { toolsets: ["all"] },
    { toolsets: "all" as const },
    { granted: [] },
    { granted: ["all"] },
    { readOnly: true },
  ];
  expect(new Set(scopes.map(scopeKey)).size).toBe(scopes.length);
  expect(scopeKey({ toolsets: ["git", "files"] })).toBe(scopeKey({ toolsets: ["files", "git"] }));
});
