import { expect, it } from "vitest";
import { createCatalog } from "../../../src/catalog/catalog.ts";
import { fixedTools } from "../../../src/catalog/tool-source.ts";
import { LOCAL } from "../../../src/sandbox/sandbox.ts";
import { portTools } from "../../../src/tools/ports/port-tools.ts";
import { openFakeSandboxes } from "../../support/fake-sandboxes.ts";
import { openToolCaller, textOf } from "../../support/tool-caller.ts";

it("runs a command in the background, which process follows, feeds and ends", async () => {
  await using tools = await openToolCaller();
  const started = await tools.call("run_command", { command: "read line; echo got $line; exec sleep 600", background: true });
  const id = started.value["process_id"];
  expect(started.value).toMatchObject({ state: "running", pid: expect.any(Number) });
  expect(textOf(started)).toContain(`follow it with process {"action":"output","process_id":"${String(id)}"}]`);
  expect((await tools.call("process", { action: "list" })).value).toMatchObject({ processes: [{ process_id: id }] });
  await tools.call("process", { action: "input", process_id: id, text: "it\n" });
  const output = await tools.call("process", { action: "output", process_id: id, offset: 0, wait_ms: 60_000 });
  expect(output.value).toMatchObject({ output: "got it\n", state: "running" });
  expect((await tools.call("process", { action: "stop", process_id: id })).value).toMatchObject({ state: "exited", exit_code: 143 });
});

it("runs commands in a session, which keeps its folder and variables", async () => {
  await using tools = await openToolCaller();
  await tools.call("run_command", { command: "mkdir -p s; cd s; A=1", session: "one" });
  const second = await tools.call("run_command", { command: 'echo "$(basename "$PWD") $A"', session: "one" });
  expect(second.value).toMatchObject({ stdout: "s 1\n", exit_code: 0, session: "one", created: false });
  expect(textOf(second)).toMatch(/^s 1\n\[session: one, exit_code: 0, /);
});

it.each([
  [{ command: "true", background: true, timeout_ms: 5 }, "timeout_ms: has no meaning with background"],
  [{ command: "true", background: true, session: "a" }, "session: has no meaning with background"],
  [{ command: "true", session: "a", cwd: "/" }, "cwd: has no meaning with session"],
])("refuses %j", async (args, problem) => {
  await using tools = await openToolCaller();
  expect(textOf(await tools.call("run_command", args))).toContain(problem);
});

it("lists, makes, limits and ends sandboxes by one tool", async () => {
  await using tools = await openToolCaller();
  const { id } = (await tools.call("sandbox", { action: "create", timeout_s: 60 })).value;
  expect((await tools.call("sandbox", { action: "list" })).value).toMatchObject({ sandboxes: [{ sandboxID: id }] });
  expect((await tools.call("sandbox", { action: "network", id })).value).toEqual({ allow: [], at_most: [] });
  expect(textOf(await tools.call("sandbox", { action: "network", id, allow: ["npm"] }))).toMatch(
    /^NOT_SUPPORTED: This process serves no network/,
  );
  expect((await tools.call("sandbox", { action: "kill", id })).value).toEqual({ ok: true });
  expect(textOf(await tools.call("sandbox", { action: "kill" }))).toMatch(/^ARGUMENTS_INVALID: [^]*sandbox_kill[^]*id: /);
});

it("lets whoever may only read do no more by such a tool than by the tools behind it", async () => {
  await using home = await openFakeSandboxes();
  const tools = portTools(async ({ port }) => ({ url: `http://${port}/`, pathUrl: `/ports/${port}` }));
  const catalog = createCatalog({
    sources: [fixedTools(tools)],
    sandboxes: home.sandboxes,
    defaultSandbox: () => ({ name: "default", options: {} }),
    scope: () => ({ readOnly: true }),
  });
  const call = (args: object) => catalog.call(LOCAL, "ports", args, { signal: AbortSignal.timeout(10_000) });
  expect((await call({ action: "list" })).structured).toEqual({ ports: [], truncated: false });
  expect(textOf(await call({ action: "open", port: 80 }))).toMatch(/^FORBIDDEN: .*register_port.*only tools that read/);
  const whole = createCatalog({
    sources: [fixedTools(tools)],
    sandboxes: home.sandboxes,
    defaultSandbox: () => ({ name: "default", options: {} }),
  });
  const opened = await whole.call(LOCAL, "ports", { action: "open", port: 80 }, { signal: AbortSignal.timeout(10_000) });
  expect(opened.structured).toMatchObject({ port: 80, listening: false });
});
