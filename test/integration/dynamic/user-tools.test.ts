import { setTimeout } from "node:timers/promises";
import { afterAll, beforeAll, expect, it } from "vitest";
import type { BelljarError } from "../../../src/errors.ts";
import type { SpecChanges } from "../../../src/dynamic/spec-changes.ts";
import { LOCAL, type Principal } from "../../../src/sandbox/sandbox.ts";
import { listed } from "../../support/listed.ts";
import { openToolsLab, textOf, type ToolsLab, type ToolsProcess } from "../../support/tools-lab.ts";

let lab: ToolsLab;
beforeAll(async () => void (lab = await openToolsLab()), 120_000);
afterAll(() => lab[Symbol.asyncDispose](), 60_000);
const signal = AbortSignal.timeout(600_000);
const OTHER: Principal = { id: "other", name: "other" };

const script = (answer: string): string => `#!/bin/bash
# ---
# { "description": "Says something", "parameters": { "whom": { "type": "string", "default": "you" } } }
# ---
echo "${answer} $WHOM"
`;
const javascript = (answer: string): string => `export default defineTool({
  description: "Says something",
  input: { type: "object", properties: { whom: { type: "string" } } },
  run: ({ whom = "you" }) => ${JSON.stringify(answer)} + " " + whom,
});`;

it("keeps a tool as a draft until it is published, and then calls it in a sandbox", async () => {
  const drafted = await lab.tools.add(LOCAL, { name: "hello", spec: { language: "javascript", code: javascript("hello") } }, signal);
  expect(drafted).toMatchObject({ name: "hello", version: 1, state: "draft", tools: [{ name: "hello", description: "Says something" }] });
  expect(lab.names()).not.toContain("hello");
  await expect(lab.call("hello")).rejects.toMatchObject({ code: "TOOL_NOT_FOUND" });
  await lab.tools.publish(LOCAL, "hello", signal);
  expect(lab.names()).toContain("hello");
  expect(textOf(await lab.call("hello", { whom: "Ada" }))).toBe("hello Ada");
});

it("calls a shell script with its arguments as variables", async () => {
  await lab.add(script("good day"), { name: "greet", language: "shell" });
  expect(textOf(await lab.call("greet", { whom: "$(id); `id`" }))).toBe("good day $(id); `id`");
});

it("gives callers another version when it is published, and the earlier one again", async () => {
  await lab.add(javascript("one"), { name: "versions", language: "javascript" });
  await lab.tools.update(LOCAL, { name: "versions", spec: { language: "javascript", code: javascript("two") } }, signal);
  expect(textOf(await lab.call("versions"))).toBe("one you");
  expect(await lab.tools.publish(LOCAL, "versions", signal)).toMatchObject({ version: 2, newest: 2, state: "live" });
  expect(textOf(await lab.call("versions"))).toBe("two you");
  expect(await lab.tools.rollback(LOCAL, "versions", 1)).toMatchObject({ version: 1, newest: 2 });
  expect(textOf(await lab.call("versions"))).toBe("one you");
  await expect(lab.tools.rollback(LOCAL, "versions", 3)).rejects.toMatchObject({ code: "TOOL_NOT_FOUND" });
});

it("keeps what a change does not name, and clears what it says", async () => {
  const tests = [{ arguments: {}, expect: { text: "one you" } }];
  const spec = {
    language: "javascript",
    code: javascript("one"),
    tests,
    limits: { pids: 32, openFiles: 256 },
    timeoutMs: 9_000,
  } as const;
  await lab.tools.add(LOCAL, { name: "changing", spec }, signal, { publish: true });
  const change = (changes: SpecChanges) => lab.tools.update(LOCAL, { name: "changing", changes }, signal, { publish: true });
  await expect(change({ code: javascript("two") }), "its tests are kept").rejects.toMatchObject({ code: "TOOL_TESTS_FAILED" });
  expect(await change({ tests: null, limits: { pids: 48 }, code: javascript("two") })).toMatchObject({ version: 2, state: "live" });
  const { tests: none, limits, timeoutMs, code } = await lab.tools.get(LOCAL, "changing");
  expect({ none, limits, timeoutMs, code }).toEqual({
    none: undefined,
    limits: { pids: 48, openFiles: 256 },
    timeoutMs: 9_000,
    code: javascript("two"),
  });
});

it("shows an agent what its draft has, and keeps what the next draft does not give", async () => {
  const tests = [{ arguments: {}, expect: { text: "one you" } }];
  const code = javascript("one");
  const given = {
    name: "drafted",
    language: "javascript",
    code,
    tests,
    network: { allow: ["npm"] },
    limits: { open_files: 256 },
    timeout_ms: 5_000,
  };
  const parts = { network: '"npm"', secrets: [], requirements: [], tests: 1 };
  expect((await lab.call("tool_draft", given)).structured).toMatchObject({ newest: 1, ...parts });
  const next = { name: "drafted", language: "javascript", code: javascript("two") };
  expect((await lab.call("tool_draft", next)).structured).toMatchObject({ newest: 2, ...parts });
  expect(await lab.tools.get(LOCAL, "drafted", 2)).toMatchObject({ limits: { openFiles: 256 }, timeoutMs: 5_000, tests });
  const cleared = { ...next, tests: [], network: "none", limits: {} };
  expect((await lab.call("tool_draft", cleared)).structured).toMatchObject({ newest: 3, network: "none", tests: 0 });
  expect((await lab.tools.get(LOCAL, "drafted", 3)).limits).toBeUndefined();
  expect((await lab.call("tool_get", { name: "drafted", version: 2 })).structured).toMatchObject(parts);
});

it("calls the only tool of a unit by the unit's name too, unless a tool has that name", async () => {
  const named = (tool: string, more = "") => `export const ${tool} = defineTool({ description: "", run: () => "${tool}" });\n${more}`;
  const add = (name: string, code: string) => lab.add(code, { name, language: "javascript" });
  await add("alias.one", named("first_alias"));
  expect([textOf(await lab.call("alias.one")), textOf(await lab.call("alias_one"))]).toEqual(["first_alias", "first_alias"]);
  expect(lab.names().filter((name) => name.includes("alias"))).toEqual(["first_alias"]);
  await add("alias.two", named("second_alias", named("third_alias")));
  await expect(lab.call("alias.two"), "it has two").rejects.toMatchObject({ code: "TOOL_NOT_FOUND" });
  await add("alias other", named("fourth_alias"));
  await add("other unit", named("alias_one"));
  expect(textOf(await lab.call("alias_one")), "a tool has the name").toBe("alias_one");
  await lab.tools.remove(LOCAL, "other unit");
  await add("alias_one", named("fifth_alias"));
  expect(textOf(await lab.call("alias_one")), "a unit is named exactly so").toBe("fifth_alias");
  await expect(lab.call("alias.one", {}, { principal: OTHER })).rejects.toMatchObject({ code: "TOOL_NOT_FOUND" });
  await lab.tools.share(LOCAL, "alias.one", true);
  expect(textOf(await lab.call("alias.one", {}, { principal: OTHER }))).toBe("first_alias");
  const third: Principal = { id: "third", name: "third" };
  await lab.tools.add(third, { name: "alias.one", spec: { language: "javascript", code: named("sixth_alias") } }, signal, {
    publish: true,
  });
  await lab.tools.share(third, "alias.one", true);
  await expect(lab.call("alias.one", {}, { principal: OTHER }), "two owners share one").rejects.toMatchObject({ code: "TOOL_NOT_FOUND" });
  expect(textOf(await lab.call("alias.one", {}, { principal: third }))).toBe("sixth_alias");
  await lab.tools.remove(third, "alias.one");
  for (const name of ["alias.one", "alias.two", "alias other", "alias_one"]) await lab.tools.remove(LOCAL, name);
});

it("keeps what fails its tests from callers, and says what it answered", async () => {
  const tests = [{ arguments: { whom: "Ada" }, expect: { text: "bye Ada" } }];
  const given = { name: "tested", spec: { language: "javascript", code: javascript("hello"), tests } } as const;
  await expect(lab.tools.add(LOCAL, given, signal, { publish: true })).rejects.toMatchObject({
    code: "TOOL_TESTS_FAILED",
    message: expect.stringContaining('it answered "hello Ada", not "bye Ada"'),
  });
  await expect(lab.tools.get(LOCAL, "tested")).rejects.toMatchObject({ code: "TOOL_NOT_FOUND" });
  await lab.tools.add(LOCAL, given, signal);
  await expect(lab.tools.publish(LOCAL, "tested", signal)).rejects.toMatchObject({ code: "TOOL_TESTS_FAILED" });
  expect(lab.names()).not.toContain("tested");
  expect(await lab.tools.get(LOCAL, "tested")).toMatchObject({ state: "draft" });
});

it("disables, enables and removes", async () => {
  await lab.add(javascript("here"), { name: "switched", language: "javascript" });
  expect(await lab.tools.setDisabled(LOCAL, "switched", true)).toMatchObject({ state: "disabled" });
  expect(lab.names()).not.toContain("switched");
  await lab.tools.setDisabled(LOCAL, "switched", false);
  expect(textOf(await lab.call("switched"))).toBe("here you");
  await lab.tools.remove(LOCAL, "switched");
  expect(lab.names()).not.toContain("switched");
  await expect(lab.call("switched")).rejects.toMatchObject({ code: "TOOL_NOT_FOUND" });
});

it("tells nobody of another owner's tools, until they are shared", async () => {
  await lab.add(javascript("mine"), { name: "mine", language: "javascript" });
  expect(lab.names(OTHER)).toEqual([]);
  await expect(lab.call("mine", {}, { principal: OTHER })).rejects.toMatchObject({ code: "TOOL_NOT_FOUND" });
  await expect(lab.tools.get(OTHER, "mine")).rejects.toMatchObject({ code: "TOOL_NOT_FOUND" });
  await lab.tools.share(LOCAL, "mine", true);
  expect(lab.names(OTHER)).toEqual(["mine"]);
  expect(textOf(await lab.call("mine", {}, { principal: OTHER }))).toBe("mine you");
  await expect(lab.tools.remove(OTHER, "mine")).rejects.toMatchObject({ code: "TOOL_NOT_FOUND" });
  await lab.tools.share(LOCAL, "mine", false);
  expect(lab.names(OTHER)).toEqual([]);
});

it.each([
  ["of a built-in tool", "read_file", { code: "TOOL_NAME_TAKEN", message: expect.stringContaining("a built-in tool") }],
  ["that is kept for Belljar", "git_mine", { code: "TOOL_NAME_TAKEN" }],
])("refuses a name %s", async (_what, name, error) => {
  await expect(lab.add(javascript("x"), { name, language: "javascript" })).rejects.toMatchObject(error);
  await expect(lab.tools.get(LOCAL, name)).rejects.toMatchObject({ code: "TOOL_NOT_FOUND" });
});

it("refuses a second unit of a name, and a tool of a name that another unit has", async () => {
  await lab.add(javascript("x"), { name: "twice", language: "javascript" });
  await expect(lab.add(javascript("y"), { name: "twice", language: "javascript" })).rejects.toMatchObject({ code: "TOOL_NAME_TAKEN" });
  const named = javascript("y").replace("{", '{ name: "twice",');
  await expect(lab.add(named, { name: "other", language: "javascript" })).rejects.toMatchObject({
    code: "TOOL_NAME_TAKEN",
    message: expect.stringContaining('"twice"'),
  });
});

it("lets one of two that add a name at the same moment have it, also of two processes", async () => {
  const another = await lab.another();
  const adding = [lab, another, lab, another].map((one, index) =>
    one.add(javascript(String(index)), { name: "raced", language: "javascript" }),
  );
  const outcomes = await Promise.allSettled(adding);
  const codes = outcomes.map((one) => (one.status === "rejected" ? (one.reason as BelljarError).code : "done"));
  expect(codes.toSorted()).toEqual(["TOOL_NAME_TAKEN", "TOOL_NAME_TAKEN", "TOOL_NAME_TAKEN", "done"]);
});

it.each(["add", "publish"] as const)("lets one of several units have a tool's name that %s at once, also in two processes", async (how) => {
  const code = javascript("x").replace("{", `{ name: "contested_${how}",`);
  const names = [0, 1, 2, 3].map((index) => `${how}_unit_${index}`);
  const give = async ({ tools }: ToolsProcess, name: string): Promise<unknown> => {
    const given = { name, spec: { language: "javascript", code } } as const;
    if (how === "add") return tools.add(LOCAL, given, signal, { publish: true });
    return tools.publish(LOCAL, name, signal);
  };
  if (how === "publish")
    await Promise.all(names.map((name) => lab.tools.add(LOCAL, { name, spec: { language: "javascript", code } }, signal)));
  const another = await lab.another();
  const outcomes = await Promise.allSettled(names.map((name, index) => give(index % 2 === 0 ? lab : another, name)));
  const codes = outcomes.map((one) => (one.status === "rejected" ? (one.reason as BelljarError).code : "done"));
  expect(codes.toSorted()).toEqual(["TOOL_NAME_TAKEN", "TOOL_NAME_TAKEN", "TOOL_NAME_TAKEN", "done"]);
  const live = (await lab.tools.list(LOCAL)).tools.filter(({ name, state }) => names.includes(name) && state === "live");
  expect(live).toHaveLength(1);
});

it("has what another process of the home has published", async () => {
  const another = await lab.another();
  const seen = new Promise<void>((resolve) => {
    another.catalog.onChange(() => another.names().includes("seen") && resolve());
  });
  await lab.add(javascript("seen"), { name: "seen", language: "javascript" });
  await seen;
  expect(textOf(await another.call("seen"))).toBe("seen you");
});

it("runs each call in a fresh sandbox that is in nobody's list", async () => {
  const code = `import { existsSync, writeFileSync } from "node:fs";
export default defineTool({ description: "", run: () => { const was = existsSync("left"); writeFileSync("left", ""); return String(was); } });`;
  await lab.add(code, { name: "leaves", language: "javascript" });
  expect([textOf(await lab.call("leaves")), textOf(await lab.call("leaves"))]).toEqual(["false", "false"]);
  const slow = `export default defineTool({ description: "", run: () => new Promise((resolve) => setTimeout(resolve, 60000)) });`;
  await lab.add(slow, { name: "slow", language: "javascript", timeoutMs: 3_000 });
  const calling = lab.call("slow");
  await setTimeout(500);
  expect(await listed(lab.sandboxes, LOCAL)).toEqual([]);
  expect(textOf(await calling)).toContain("EXEC_TIMEOUT: The code did not answer within 3000 ms");
});

it("uses a session's sandbox again for the same client alone", async () => {
  const code = `import { existsSync, writeFileSync } from "node:fs";
export default defineTool({ description: "", run: () => { const was = existsSync("left"); writeFileSync("left", ""); return String(was); } });`;
  await lab.add(code, { name: "stays", language: "javascript", reuse: "session" });
  const client = (id: string) => ({ client: { id, ask: () => Promise.reject(new Error("nobody is asked")) } });
  const answers = [];
  for (const one of ["a", "a", "b"]) answers.push(textOf(await lab.call("stays", {}, client(one))));
  answers.push(textOf(await lab.call("stays", {}, { ...client("a"), principal: OTHER }).catch(() => ({ value: "", content: [] }))));
  expect(answers).toEqual(["false", "true", "false", ""]);
});

it("refuses code that cannot be read, with the line, and keeps nothing", async () => {
  await expect(lab.add("export default {", { name: "broken", language: "javascript" })).rejects.toMatchObject({
    code: "TOOL_INVALID",
    message: expect.stringContaining("broken, line 1"),
  });
  await expect(lab.add("process.exit(3)", { name: "broken", language: "javascript" })).rejects.toMatchObject({ code: "TOOL_INVALID" });
  await expect(lab.tools.get(LOCAL, "broken")).rejects.toMatchObject({ code: "TOOL_NOT_FOUND" });
});

it("tells an error of the code with its name and line, and remembers it", async () => {
  const code = `export default defineTool({\n  description: "",\n  run() {\n    throw new RangeError("too far");\n  },\n});`;
  await lab.add(code, { name: "fails", language: "javascript" });
  const result = await lab.call("fails");
  expect(result.isError).toBe(true);
  expect(textOf(result)).toMatch(/^RangeError: too far[^]*fails\.js:4/);
  const { stats, lastErrors } = await lab.tools.get(LOCAL, "fails");
  expect([stats.calls, stats.errors, lastErrors[0]?.message]).toEqual([1, 1, expect.stringContaining("RangeError: too far")]);
});

it("needs the right to publish and to share for a caller with a token", async () => {
  const drafter: Principal = { id: "drafter", name: "drafter", grants: {} };
  const given = { name: "granted", spec: { language: "javascript", code: javascript("x") } } as const;
  await expect(lab.tools.add(drafter, given, signal, { publish: true })).rejects.toMatchObject({ code: "FORBIDDEN" });
  expect(await lab.tools.add(drafter, given, signal)).toMatchObject({ state: "draft" });
  await expect(lab.tools.publish(drafter, "granted", signal)).rejects.toMatchObject({ code: "FORBIDDEN" });
  const publisher: Principal = { ...drafter, grants: { publishesTools: true } };
  expect(await lab.tools.publish(publisher, "granted", signal)).toMatchObject({ state: "live" });
  const refusals = [
    () => lab.tools.share(publisher, "granted", true),
    () => lab.tools.rollback(drafter, "granted", 1),
    () => lab.tools.setDisabled(drafter, "granted", true),
    () => lab.tools.remove(drafter, "granted"),
  ];
  for (const refused of refusals) await expect(refused()).rejects.toMatchObject({ code: "FORBIDDEN" });
  expect(await lab.tools.share({ ...drafter, grants: { sharesTools: true } }, "granted", true)).toMatchObject({ isShared: true });
});

it("refuses to give callers two tools of one name, also by enabling one", async () => {
  await lab.add(javascript("first"), { name: "same", language: "javascript" });
  await lab.tools.setDisabled(LOCAL, "same", true);
  await lab.add(javascript("second").replace("{", '{ name: "same",'), { name: "same-again", language: "javascript" });
  await expect(lab.tools.setDisabled(LOCAL, "same", false)).rejects.toMatchObject({ code: "TOOL_NAME_TAKEN" });
  expect(textOf(await lab.call("same"))).toBe("second you");
});

it("brings back only what callers have had", async () => {
  await lab.add(javascript("one"), { name: "back", language: "javascript" });
  await lab.tools.update(LOCAL, { name: "back", spec: { language: "javascript", code: javascript("two") } }, signal);
  await lab.tools.test(LOCAL, "back", signal, { isClosed: true });
  await expect(lab.tools.rollback(LOCAL, "back", 2)).rejects.toMatchObject({ code: "TOOL_NOT_FOUND" });
});

it("lets the maker of a draft throw it away, without the right to publish", async () => {
  const drafter: Principal = { id: "thrower", name: "thrower", grants: {} };
  await lab.tools.add(drafter, { name: "thrown", spec: { language: "shell", code: script("x") } }, signal);
  await lab.tools.remove(drafter, "thrown");
  expect(await lab.tools.list(drafter)).toEqual({ tools: [] });
});

it("has the newer one of two units of a name, of which one was removed by another process", async () => {
  const another = await lab.another();
  await lab.add(script("old"), { name: "anew", language: "shell" });
  await lab.tools.remove(LOCAL, "anew");
  await lab.add(script("new"), { name: "anew", language: "shell" });
  await new Promise<void>((resolve) => {
    const look = async (): Promise<void> =>
      void (another.names().includes("anew") && textOf(await another.call("anew")) === "new you" && resolve());
    another.catalog.onChange(() => void look());
    void look();
  });
  expect(textOf(await another.call("anew"))).toBe("new you");
});

it("lets the tests of who may not publish reach nothing", async () => {
  const drafter: Principal = { id: "tester", name: "tester", grants: {} };
  const tests = [{ arguments: {}, expect: { text: "x you" } }];
  const spec = { language: "shell", code: script("x"), network: "all", tests } as const;
  await lab.tools.add(drafter, { name: "reaching", spec }, signal);
  expect(await lab.tools.test(drafter, "reaching", signal)).toMatchObject({ tests: [{ tool: "reaching" }] });
  // These sandboxes have no way out: a network that is asked for is refused.
  const publisher: Principal = { ...drafter, grants: { publishesTools: true } };
  await expect(lab.tools.test(publisher, "reaching", signal)).rejects.toMatchObject({ code: "NOT_SUPPORTED" });
});

it("lists units page by page, in the order of their names, whatever is removed meanwhile", async () => {
  const lister: Principal = { id: "lister", name: "lister" };
  const names = ["b", "a.1", "é", "a"];
  for (const name of names) await lab.tools.add(lister, { name, spec: { language: "shell", code: script(name) } }, signal);
  const first = await lab.tools.list(lister, { limit: 2 });
  expect(first.tools.map(({ name }) => name)).toEqual(["a", "a.1"]);
  await lab.tools.remove(lister, "a.1");
  const second = await lab.tools.list(lister, { cursor: first.nextCursor, limit: 2 });
  expect([second.tools.map(({ name }) => name), second.nextCursor]).toEqual([["b", "é"], undefined]);
  await expect(lab.tools.list(lister, { cursor: "???" })).rejects.toMatchObject({ code: "ARGUMENTS_INVALID" });
});

it("ends the calls that run when it is closed, before their sandboxes go", async () => {
  const order: string[] = [];
  const closing = await openToolsLab();
  try {
    const code =
      '@mcp.tool(description="Waits")\nasync def waits(ctx: Context) -> str:\n    import time\n    await ctx.report_progress(1, 2)\n    time.sleep(600)\n    return "never"\n';
    await closing.add(code, { name: "waits" });
    await new Promise<void>((resolve) => {
      const progress = (): void => resolve();
      void closing.call("waits", {}, { progress }).then(
        () => order.push("call"),
        () => order.push("call"),
      );
    });
  } finally {
    await closing[Symbol.asyncDispose]();
    order.push("closed");
  }
  expect(order).toEqual(["call", "closed"]);
});

it("answers a session's calls in one harness, each in a process of its own", async () => {
  const code = `import os, sys
count = 0
@mcp.tool
def counts(word: str = "") -> str:
    global count
    count += 1
    print("printed", word)
    print("told", word, file=sys.stderr)
    return f"{count} {os.getppid()} {word}"
@mcp.tool
def dies(): os.kill(os.getpid(), 9)
@mcp.tool
def exits(): os._exit(5)
@mcp.tool
def ends_all():
    import time
    os.kill(os.getppid(), 9)
    time.sleep(600)
@mcp.tool
def closes():
    os.closerange(0, 1024)
    return "unheard"
@mcp.tool
def leaves_one():
    import subprocess
    subprocess.Popen(["sh", "-c", "while sleep 0.01; do echo late; done"])
    return "left"
`;
  await lab.add(code, { name: "serving", reuse: "session" });
  const logs: string[] = [];
  const client = {
    client: { id: "s", ask: () => Promise.reject(new Error("nobody is asked")) },
    log: (_: unknown, text: unknown) => logs.push(String(text)),
  };
  const call = async (tool: string, word?: string): Promise<string> =>
    textOf(await lab.call(tool, word === undefined ? {} : { word }, client));
  const [one, two] = [await call("counts", "one"), await call("counts", "two")];
  expect([one, two].map((text) => text.split(" ")[0])).toEqual(["1", "1"]);
  expect(two.split(" ")[1]).toBe(one.split(" ")[1]);
  expect(logs).toEqual(["printed one\n\ntold one\n", "printed two\n\ntold two\n"]);
  expect(await call("counts", "x".repeat(3_000_000))).toContain("xxx");
  expect(await call("leaves_one")).toBe("left");
  expect((await call("counts", "three")).split(" ").at(-1)).toBe("three");
  for (const [tool, ending] of [
    ["dies", "was ended by SIGKILL"],
    ["exits", "ended with code 5"],
    ["ends_all", "was ended by SIGKILL"],
    ["closes", "ended with code 1"],
  ] as const)
    expect(await call(tool)).toContain(`TOOL_FAILED: The code ${ending} before it had an answer`);
  expect((await call("counts", "four")).split(" ").at(-1)).toBe("four");
});
