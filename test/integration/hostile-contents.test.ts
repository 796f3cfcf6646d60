import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { openToolCaller, textOf } from "../support/tool-caller.ts";

/**
 * One call over each of these contents stopped a server for all its owners, or ended it: the calls came back after a minute or never.
 * That nobody else waits meanwhile is for `test/security/contents.test.ts` to say.
 */
const PYTHON = "import sys; out = sys.stdout.buffer; ";
/** Longer than the work takes on a busy machine, and far shorter than it took. */
const PATIENCE_MS = 60_000;

type Tools = Awaited<ReturnType<typeof openToolCaller>>;

async function make(tools: Tools, name: string, bytes: string): Promise<void> {
  const result = await tools.call("run_command", { command: `python3 -c '${PYTHON}out.write(${bytes})' > ${name}` });
  expect(result.value).toMatchObject({ exit_code: 0 });
}

async function commit(tools: Tools, message: string): Promise<void> {
  const git = "git -c user.name=a -c user.email=a@a";
  const command = `${git} init -q . && ${git} add -A && python3 -c 'print("${message}" * 3000000)' | ${git} commit -q -F -`;
  expect((await tools.call("run_command", { command })).value).toMatchObject({ exit_code: 0 });
}

it("shows a change of a line of 3 MB, and a commit with one", { timeout: PATIENCE_MS }, async () => {
  await using tools = await openToolCaller();
  await make(tools, "long", 'b"a" * 3000000');
  await commit(tools, "a");
  await make(tools, "long", 'b"a" * 2999999 + b"b"');
  expect((await tools.call("git_diff", {})).value).toMatchObject({ files: [{ path: "long" }], truncated: true });
  expect((await tools.call("git_log", {})).value).toMatchObject({ commits: [{ body: "" }], truncated: true });
});

it("refuses edits that make a file too large, and changes nothing", { timeout: PATIENCE_MS }, async () => {
  await using tools = await openToolCaller();
  await make(tools, "a", 'b"a" * 8000000');
  const grow = { old_string: "a", new_string: "b".repeat(1_000_000), replace_all: true };
  const result = await tools.call("edit_file", { path: "a", edits: [{ ...grow, new_string: "aa" }, grow] });
  expect(textOf(result)).toMatch(/^FILE_TOO_LARGE: Nothing was changed in "a": edits\[0\] would make it 16000000 bytes large.*run_command/);
  expect((await tools.call("file_info", { path: "a" })).value).toMatchObject({ size: 8_000_000 });
});

it("looks for a text that repeats itself in one that does", { timeout: PATIENCE_MS }, async () => {
  await using tools = await openToolCaller();
  await make(tools, "a", 'b"a" * 8000000');
  const result = await tools.call("edit_file", {
    path: "a",
    edits: [{ old_string: `${"a".repeat(500_000)}b${"a".repeat(500_000)}`, new_string: "c" }],
  });
  expect(textOf(result)).toMatch(/^EDIT_CONFLICT: Nothing was changed/);
});

it("looks for a hunk of 1.6 MB in a file of a million equal lines", { timeout: PATIENCE_MS }, async () => {
  await using tools = await openToolCaller();
  await make(tools, "equal", 'b"a\\n" * 1000000');
  const same = " a\n".repeat(200_000);
  const hunk = (end: string): string => `--- equal\n+++ equal\n@@ -900000,200000 +900000,200000 @@\n${same}${end}`;
  const missing = await tools.call("apply_patch", { patch: hunk("-b\n+c\n") });
  expect(textOf(missing)).toMatch(/^EDIT_CONFLICT: The patch does not apply/);
  const there = await tools.call("apply_patch", { patch: hunk("-a\n+c\n") });
  expect(there.value).toMatchObject({ files: [{ status: "modified", size: 2_000_000 }] });
});

it("refuses a patch of more lines than it applies at once", { timeout: PATIENCE_MS }, async () => {
  await using tools = await openToolCaller();
  const result = await tools.call("apply_patch", { patch: `--- a\n+++ a\n@@ -1,700000 +1,700001 @@\n${" a\n".repeat(700_000)}+b\n` });
  expect(textOf(result)).toMatch(/^ARGUMENTS_INVALID: The patch has 700004 lines; at most 250000 are applied at once\. Split it/);
});

it("holds a tree of deep paths against a hundred globs", { timeout: PATIENCE_MS }, async () => {
  await using tools = await openToolCaller();
  const command = `python3 -c '
import os
for top in range(40):
    os.makedirs("%d/" % top + "a/" * 30); os.chdir("%d/" % top + "a/" * 30)
    for name in range(100): open("a" * 200 + str(name), "w").close()
    os.chdir("../" * 31)'`;
  expect((await tools.call("run_command", { command })).value).toMatchObject({ exit_code: 0 });
  const small = Array.from({ length: 100 }, (_, index) => `${"*a".repeat(8)}${index % 10}b`);
  const listed = await tools.call("list_directory", { depth: 32, ignore: small });
  expect(listed.value).toMatchObject({ truncated: true });
  const large = Array.from({ length: 100 }, () => "*a".repeat(200));
  expect(textOf(await tools.call("list_directory", { depth: 32, ignore: large }))).toMatch(/^ARGUMENTS_INVALID: .*leave some out/s);
});

it("ends a search whose program prints context for ever", { timeout: PATIENCE_MS }, async () => {
  const folder = mkdtempSync(join(tmpdir(), "belljar-rg-"));
  const rg = join(folder, "rg");
  const line = JSON.stringify({
    type: "context",
    data: { path: { text: "a" }, lines: { text: "a".repeat(400) }, line_number: 1, submatches: [] },
  });
  writeFileSync(rg, `#!/bin/sh\nexec yes '${line}'\n`);
  chmodSync(rg, 0o755);
  await using tools = await openToolCaller({ programs: { rg } });
  const result = await tools.call("search_content", { pattern: "a", context: 2 });
  expect(result.value).toMatchObject({ matches: [], truncated: true });
  expect(textOf(result)).toContain("[There are more; ");
  rmSync(folder, { recursive: true });
});
