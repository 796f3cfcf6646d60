import { expect, it } from "vitest";
import { describeTool } from "../catalog/description.ts";
import { openToolCaller } from "../../test/support/tool-caller.ts";
import type { Tool } from "../catalog/tool.ts";
import { createInterpreter } from "../interpreter/interpreter.ts";
import { createNoSandboxes } from "../../test/support/no-sandboxes.ts";
import { createTestTexts } from "../../test/support/test-texts.ts";
import { builtinTools } from "./builtin-tools.ts";
import { createShellSessions } from "../interpreter/lasting/shell-sessions.ts";
import { isDefaultTool, parseToolScope, TOOLSET_NAMES } from "./toolsets.ts";
import { LateCommands } from "./shell/late-commands.ts";

function openTools() {
  const sandboxes = createNoSandboxes();
  const config = { execTimeoutMs: 60_000, maxOutputBytes: 1_048_576, listMax: 1_000 };
  const [interpreter, shells, texts] = [createInterpreter({ sandboxes }), createShellSessions(config), createTestTexts()];
  return builtinTools({ interpreter, sandboxes, shells, late: new LateCommands(), texts, config });
}

const HELPERS = ["process", "ports", "sandbox", "call_tool"];

it("shows few tools unasked, which cost a context little", () => {
  const shown = openTools().filter((tool) => isDefaultTool(tool) || tool.role === "discovery");
  expect(shown.length).toBeLessThanOrEqual(21);
  const characters = shown.reduce((sum, tool) => {
    const { name, description, inputSchema } = describeTool(tool);
    return sum + name.length + description.length + JSON.stringify(inputSchema).length;
  }, 0);
  expect(characters / 4).toBeLessThanOrEqual(4_700);
});

it("has every name that callers of the documents know, shown or not", () => {
  const names = new Set(openTools().map(({ name }) => name));
  const sandboxes = ["create", "exec", "read_file", "write_file", "run_code", "snapshot", "fork", "kill", "list"];
  const files = ["read_file", "write_file", "list_directory", "create_directory", "delete_file", "search_files", "search_content"];
  const known = [...files, "run_command", "run_background", "execute_code", "register_port", "git_status", "git_commit", "npm_install"];
  expect([...known, ...sandboxes.map((name) => `sandbox_${name}`)].filter((name) => !names.has(name))).toEqual([]);
});

function propertiesOf({ schema }: Tool["input"]): object {
  return (schema["properties"] as object | undefined) ?? {};
}

it("knows the toolset of every built-in tool", () => {
  const unknown = openTools().filter(({ toolset, role }) => role === undefined && !TOOLSET_NAMES.includes(toolset));
  expect(unknown.map(({ name }) => name)).toEqual([]);
});

it("takes an id of a sandbox in every tool that works in one", () => {
  const elsewhere = [
    "sandbox",
    "sandbox_create",
    "sandbox_list",
    "sandbox_snapshots",
    "template_list",
    "template_build",
    "read_result",
    // It has a sandbox of its own, without anything of the caller's.
    "execute_tools_script",
    "web_search",
  ];
  const without = openTools().filter(({ input, name, role, toolset }) => {
    const properties = propertiesOf(input);
    return (
      role !== "discovery" &&
      toolset !== "tools" &&
      !elsewhere.includes(name) &&
      !("sandbox" in properties) &&
      !(name.startsWith("sandbox_") && "id" in properties)
    );
  });
  expect(without.map(({ name }) => name)).toEqual([]);
});

it("says of every tool's result what is in it, but of what another tool answers", () => {
  expect(
    openTools()
      .filter(({ output, value, delegates }) => !delegates && (output === undefined) === (value === undefined))
      .map(({ name }) => name),
  ).toEqual([]);
  expect(
    openTools()
      .filter(({ delegates }) => delegates)
      .map(({ name }) => name)
      .toSorted(),
  ).toEqual(HELPERS.toSorted());
});

it("says of every tool that runs programs of the caller that they may reach others", () => {
  const closed = openTools().filter(({ input, name, annotations }) => {
    const properties = propertiesOf(input);
    // The code of a draft is read where nothing can be reached.
    if (name === "tool_draft") return false;
    return ["command", "cmd", "code", "entrypoint_code", "script"].some((key) => key in properties) && !annotations.openWorldHint;
  });
  expect(closed.map(({ name }) => name)).toEqual([]);
});

it("says of every tool that reads that it destroys nothing", () => {
  const odd = openTools().filter(({ annotations }) => annotations.readOnlyHint && annotations.destructiveHint);
  expect(odd).toEqual([]);
});

it("shows of the sandbox tools those that go back, and the one that stands for the others", () => {
  const shown = openTools().filter((tool) => tool.toolset === "sandbox" && isDefaultTool(tool));
  expect(shown.map(({ name }) => name)).toEqual(["sandbox", "sandbox_checkpoint", "sandbox_rollback"]);
});

it("refuses a toolset that there is not, and names those that there are", () => {
  expect(() => parseToolScope({ toolsets: ["fils"], readOnly: false })).toThrow(/no toolset "fils": choose of all, files/);
});

it("refuses two toolsets that exclude one another, and names both", () => {
  for (const others of [["browser"], ["all"], ["files", "all", "browser"]]) {
    const parse = (): unknown => parseToolScope({ toolsets: ["browser-ii", ...others], readOnly: false });
    expect(parse, others.join()).toThrow(/browser and browser-ii exclude one another/);
  }
  expect(parseToolScope({ toolsets: ["browser-ii", "files"], readOnly: false })).toMatchObject({ toolsets: ["browser-ii", "files"] });
});

it("takes all together with others as all", () => {
  expect(parseToolScope({ toolsets: ["files", "all"], readOnly: true })).toEqual({ toolsets: "all", readOnly: true });
});

it("finds the tool of a task by the words that a model would use", async () => {
  await using caller = await openToolCaller();
  const first = async (query: string) => {
    const { value } = await caller.call("search_tools", { query, limit: 3 });
    return (value as { tools: { name: string }[] }).tools.map(({ name }) => name);
  };
  expect(await first("run a shell command")).toContain("run_command");
  expect(await first("read the content of a file")).toContain("read_file");
  expect(await first("delete sandbox kill end")).toContain("sandbox_kill");
});
