import { expect, it } from "vitest";
import { LOCAL } from "../../../src/sandbox/sandbox.ts";
import { openToolCaller, readRest, textOf } from "../../support/tool-caller.ts";

const LINES = 20_000;
const WHOLE = Array.from({ length: LINES }, (_, index) => `line ${index + 1}`).join("\n");
const MARK = /\n\[\.\.\. \d+ bytes cut; read it with read_result, uri belljar:\/\/results\/[0-9a-f]{32} \.\.\.\]\n/;
const PRINT = `seq -f 'line %g' 1 ${LINES}`;

it.each([
  ["run_command", { command: PRINT }],
  ["shell_run", { command: PRINT }],
  ["execute_code", { language: "bash", entrypoint_code: PRINT }],
])("%s keeps what it does not show of a long output", async (name, args) => {
  await using caller = await openToolCaller();
  const result = await caller.call(name, args);
  expect(result.value).toMatchObject({ truncated: true, stderr: "" });
  expect(textOf(result)).toMatch(MARK);
  expect((await readRest(caller, result)).join("\n")).toBe(WHOLE);
});

it("keeps it of a sandbox that is named too, and cuts between lines", async () => {
  await using caller = await openToolCaller();
  const { id } = await caller.sandboxes.create(LOCAL, {}, new AbortController().signal);
  const result = await caller.call("sandbox_exec", { id, cmd: `${PRINT} >&2` });
  const { stderr } = result.value as { stderr: string };
  expect(stderr.split("\n").every((line) => /^(line \d+|\[\.\.\. .* \.\.\.\]|)$/.test(line))).toBe(true);
  expect(textOf(result)).toMatch(MARK);
  expect((await readRest(caller, result)).join("\n")).toBe(WHOLE);
});

it("keeps both ends of what is too much to keep", async () => {
  await using caller = await openToolCaller();
  const result = await caller.call("run_command", { command: "echo first; head -c 5000000 /dev/zero | tr '\\0' x; echo; echo last" });
  const rest = (await readRest(caller, result)).join("\n");
  expect(rest).toMatch(/^first\nx+\n\[\.\.\. 39\d{5} bytes cut \.\.\.\]\nx+\nlast$/);
});

it("keeps nothing of what is shown in full", async () => {
  await using caller = await openToolCaller();
  expect((await caller.call("run_command", { command: "head -c 65536 /dev/zero" })).value).toMatchObject({ truncated: false });
  expect(caller.catalog.results.list(LOCAL)).toEqual([]);
});
