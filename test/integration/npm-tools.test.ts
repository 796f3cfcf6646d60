import { expect, it } from "vitest";
import { LOCAL } from "../../src/sandbox/sandbox.ts";
import { openToolCaller, textOf } from "../support/tool-caller.ts";

type Tools = Awaited<ReturnType<typeof openToolCaller>>;

/** A package `app` beside a package `dep` that it does not use yet. */
async function openPackage(): Promise<Tools> {
  const tools = await openToolCaller();
  const scripts = {
    greet: 'echo "hello $GREETING"; echo err >&2; node -e "console.log(process.argv.slice(1))" --',
    test: 'echo "ci: $CI"; exit 3',
  };
  const write = (path: string, content: unknown) => tools.call("write_file", { path, content: JSON.stringify(content) });
  await write("app/package.json", { name: "app", version: "1.0.0", scripts });
  await write("dep/package.json", { name: "dep", version: "2.0.0" });
  return tools;
}

it("adds packages, installs what is listed, and tells how many", async () => {
  await using tools = await openPackage();
  const added = await tools.call("npm_install", { path: "app", packages: ["../dep"], dev: true });
  expect(added.value, textOf(added)).toMatchObject({ added: 1, removed: 0, changed: 0, duration_ms: expect.any(Number) });
  expect(textOf(await tools.call("read_file", { path: "app/package.json" }))).toMatch(
    /"devDependencies":\s*\{\s*"dep":\s*"file:\.\.\/dep"/,
  );
  await tools.call("run_command", { command: "rm -r app/node_modules" });
  expect(await tools.call("npm_install", { path: "app", clean: true })).toMatchObject({ value: { added: 1 } });
});

it("runs scripts with arguments as they stand, and tells of their failure", async () => {
  await using tools = await openPackage();
  const run = await tools.call("npm_run", { path: "app", script: "greet", args: ["--flag", "a b", "$HOME"], env: { GREETING: "you" } });
  expect(run.value).toMatchObject({ exit_code: 0, stderr: "err\n", timed_out: false, truncated: false });
  expect(String(run.value["stdout"])).toMatch(/hello you\n\[ '--flag', 'a b', '\$HOME' \]\n$/);
  const test = await tools.call("npm_test", { path: "app" });
  expect(test.isError).toBeUndefined();
  expect(test.value).toMatchObject({ exit_code: 3, stdout: expect.stringContaining("ci: true\n") });
  expect(textOf(test)).toMatch(/\n\[exit_code: 3, duration_ms: \d+\]$/);
});

it.each([
  ["npm_run", { script: "long" }],
  ["npm_test", {}],
])("%s in another sandbox names it in the call that reads on", async (name, args) => {
  await using tools = await openToolCaller();
  const { id } = await tools.sandboxes.create(LOCAL, {}, new AbortController().signal);
  const scripts = { long: "seq 20000", test: "seq 20000" };
  await tools.call("write_file", {
    path: "package.json",
    content: JSON.stringify({ name: "app", version: "1.0.0", scripts }),
    sandbox: id,
  });
  const text = textOf(await tools.call(name, { ...args, sandbox: id }));
  const call = /, read on with read_file (\{[^{}]*\})\]$/.exec(text)?.[1] ?? "";
  expect(JSON.parse(call)).toMatchObject({ sandbox: id });
  expect(textOf(await tools.call("read_file", JSON.parse(call)))).toMatch(/^\d+\n/);
});

it("tells what npm said when it fails", async () => {
  await using tools = await openPackage();
  expect(textOf(await tools.call("npm_install", { path: "app", packages: ["./missing"] }))).toMatch(
    /^COMMAND_FAILED: npm install exited with \d+:\n/,
  );
  expect(textOf(await tools.call("npm_install", { path: "app", clean: true }))).toMatch(
    /^COMMAND_FAILED: npm ci exited with 1:\n[\s\S]*lock/,
  );
  expect(await tools.call("npm_run", { path: "app", script: "missing" })).toMatchObject({ value: { exit_code: 1 } });
});

it.each([
  ["npm_install", { packages: ["--global"] }, "packages.0: must not begin with a dash"],
  ["npm_install", { packages: [] }, "packages: "],
  ["npm_install", { packages: ["a"], clean: true }, "clean: has no meaning with packages"],
  ["npm_install", { dev: true }, "packages: is needed with dev and exact"],
  ["npm_install", { path: "missing" }, "FILE_NOT_FOUND: "],
  ["npm_run", {}, "script: "],
  ["npm_run", { script: "-x" }, "script: must not begin with a dash"],
  ["npm_run", { script: "x", args: ["a\0"] }, "args.0: must not hold a NUL byte"],
  ["npm_test", { timeout_ms: 0 }, "timeout_ms: "],
])("%s refuses %j", async (name, args, problem) => {
  await using tools = await openToolCaller();
  const result = await tools.call(name, args);
  expect(result.isError).toBe(true);
  expect(textOf(result)).toContain(problem);
});
