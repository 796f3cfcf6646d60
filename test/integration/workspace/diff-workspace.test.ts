import { symlinkSync } from "node:fs";
import { join } from "node:path";
import { Readable } from "node:stream";
import { afterAll, describe, expect, it } from "vitest";
import { BelljarError } from "../../../src/errors.ts";
import { createTestTexts } from "../../support/test-texts.ts";
import type { FileInfo } from "../../../src/runtime/guest/guest.ts";
import { LOCAL } from "../../../src/sandbox/sandbox.ts";
import { applyWorkspace } from "../../../src/sandbox/workspace/apply-workspace.ts";
import { coloursFor } from "../../../src/cli/colours.ts";
import { renderDiff, toDiffReport } from "../../../src/cli/diff-view/render-diff.ts";
import { diffWorkspace } from "../../../src/sandbox/workspace/workspace-diff.ts";
import { listing, lying, row, withFiles } from "../../support/lying-guest.ts";
import { useWorkspaceHome } from "../../support/workspace-home.ts";

const PLAIN = { colours: coloursFor({}, {}) };
const signal = new AbortController().signal;
const texts = createTestTexts();
afterAll(() => texts[Symbol.dispose]());
const withCode = (code: string) => expect.objectContaining({ name: "BelljarError", code });
const at = useWorkspaceHome();
const { onHost, openSandbox, inside } = at;

describe("diffWorkspace", () => {
  it("is empty when nothing changed, whatever the times say", async () => {
    onHost("a/b.txt", "same");
    symlinkSync("a/b.txt", join(at.work, "link"));
    const sandbox = await openSandbox();
    await inside(sandbox, "touch -d @5 a/b.txt");
    expect(await diffWorkspace(sandbox, { home: at.home, texts, signal })).toMatchObject({
      hostPath: at.work,
      changes: [],
      skipped: [],
    });
  });

  it("tells added, modified, removed, changed type and changed mode apart", async () => {
    for (const name of ["changed", "gone", "retyped", "moded", "kept", "dir/in"]) onHost(name, `${name}\n`);
    const sandbox = await openSandbox();
    await inside(
      sandbox,
      "echo new > added; mkdir folder; echo x >> changed; rm gone; rm retyped; ln -s kept retyped; chmod 755 moded; rm -r dir",
    );
    const { changes } = await diffWorkspace(sandbox, { home: at.home, texts, signal });
    expect(changes.map(({ kind, path }) => `${kind} ${path}`)).toEqual([
      "added added",
      "modified changed",
      "removed dir",
      "removed dir/in",
      "added folder",
      "removed gone",
      "mode_changed moded",
      "type_changed retyped",
    ]);
  });

  it("sees a change that keeps the size", async () => {
    onHost("a", "one");
    const sandbox = await openSandbox();
    await inside(sandbox, "printf two > a");
    expect((await diffWorkspace(sandbox, { home: at.home, texts, signal })).changes).toMatchObject([{ kind: "modified", path: "a" }]);
  });

  it("shows text as a unified diff and marks what is binary", async () => {
    onHost("text", "one\ntwo\n");
    const sandbox = await openSandbox();
    await inside(sandbox, "printf 'one\\nthree\\n' > text; printf 'a\\000b' > binary");
    const { changes } = await diffWorkspace(sandbox, { home: at.home, texts, signal });
    expect(changes[0]).toMatchObject({ path: "binary", isBinary: true });
    expect(changes[1]?.patch).toContain("--- a/text\n+++ b/text\n@@ -1,2 +1,2 @@\n one\n-two\n+three\n");
  });

  it("shows changes of many files that have little in common", async () => {
    const names = Array.from({ length: 30 }, (_, index) => `f${index}`);
    for (const name of names)
      onHost(
        name,
        Array.from({ length: 100_000 }, (_, line) => `${(line * line) % 97}\n`)
          .join("")
          .slice(0, 250_000),
      );
    const sandbox = await openSandbox();
    await inside(sandbox, "for f in f*; do tac $f > new; mv new $f; done");
    const { changes } = await diffWorkspace(sandbox, { home: at.home, texts, signal });
    expect(changes.map(({ kind }) => kind)).toEqual(names.map(() => "modified"));
    const shown = changes.filter(({ patch }) => patch !== undefined);
    expect(shown).toHaveLength(16);
    expect(
      renderDiff(
        { sandboxId: "", hostPath: "", changes, conflicts: [], held: [], settled: [], ignored: 0, commits: 0, skipped: [] },
        PLAIN,
      ),
    ).toContain("M f9 (too large to show: 250000 bytes)\n");
  });

  it("names a large file without showing it", async () => {
    const sandbox = await openSandbox();
    await inside(sandbox, "yes | head -c 2000000 > large");
    const [change] = (await diffWorkspace(sandbox, { home: at.home, texts, signal })).changes;
    expect(change).toMatchObject({ path: "large", kind: "added" });
    expect(change).not.toHaveProperty("patch");
  });

  it("leaves pipes and sockets out and says so", async () => {
    const sandbox = await openSandbox();
    await inside(sandbox, "mkfifo pipe");
    expect(await diffWorkspace(sandbox, { home: at.home, texts, signal })).toMatchObject({
      changes: [],
      skipped: [{ path: "pipe" }],
    });
  });

  it("leaves a link out whose text is not UTF-8, and says so", async () => {
    const sandbox = await openSandbox();
    await inside(sandbox, `ln -s "$(printf 'x\\377')" odd; ln -s x plain`);
    expect(await diffWorkspace(sandbox, { home: at.home, texts, signal })).toMatchObject({
      changes: [{ path: "plain", kind: "added" }],
      skipped: [{ path: "odd", reason: expect.stringContaining("not UTF-8") as string }],
    });
  });

  it("does not take for removed what the guest only does not list", async () => {
    onHost("folder/file", "x");
    const sandbox = await openSandbox();
    const blind = withFiles(sandbox, listing(row("folder", { type: "directory", mode: 0o755 })));
    expect(await diffWorkspace(blind, { home: at.home, texts, signal })).toMatchObject({
      changes: [],
      skipped: [{ path: "folder/file" }],
    });
  });

  it.each([
    ["FILE_NOT_FOUND", { changes: [{ kind: "removed", path: "file" }], skipped: [] }],
    ["FILE_NOT_DIRECTORY", { changes: [{ kind: "removed", path: "file" }], skipped: [] }],
    ["FILE_DENIED", { changes: [], skipped: [{ path: "file" }] }],
  ] as const)("asks for each file that the guest does not list, and takes %s for what it is", async (code, diff) => {
    onHost("file", "x");
    const sandbox = await openSandbox();
    const stat = (): Promise<never> => Promise.reject(new BelljarError(code, "as the guest says"));
    expect(await diffWorkspace(withFiles(sandbox, { ...listing(), stat }), { home: at.home, texts, signal })).toMatchObject(diff);
  });

  it("leaves out and names what the sandbox's user may not read", async () => {
    onHost("same", "host");
    const sandbox = await openSandbox();
    const denied = (): Promise<never> => Promise.reject(new BelljarError("FILE_DENIED", "It may not be read"));
    const blind = withFiles(sandbox, { ...listing(row("same"), row("new")), open: denied, read: denied });
    const skipped = ["same", "new"].map((path) => ({ path, reason: "It may not be read" }));
    expect(await diffWorkspace(blind, { home: at.home, texts, signal })).toMatchObject({ changes: [], skipped });
  });

  it("takes no failure of the guest for an answer", async () => {
    onHost("file", "x");
    const sandbox = await openSandbox();
    const stat = (): Promise<never> => Promise.reject(new BelljarError("GUEST_PROTOCOL", "as the guest says"));
    await expect(diffWorkspace(withFiles(sandbox, { ...listing(), stat }), { home: at.home, texts, signal })).rejects.toThrow(
      withCode("GUEST_PROTOCOL"),
    );
  });

  it("compares names that are no UTF-8 byte by byte", async () => {
    const sandbox = await openSandbox();
    await inside(sandbox, "touch \"$(printf 'a\\377')\" \"$(printf 'a\\376')\" \"$(printf 'new\\nline')\"");
    const { changes } = await diffWorkspace(sandbox, { home: at.home, texts, signal });
    expect(changes.map(({ key }) => key)).toEqual(["a\u00fe", "a\u00ff", "new\nline"]);
    await applyWorkspace(sandbox, await diffWorkspace(sandbox, { home: at.home, texts, signal }), {
      home: at.home,
      signal,
    });
    expect((await diffWorkspace(sandbox, { home: at.home, texts, signal })).changes).toEqual([]);
  });

  it("has nothing to say of a read-only workspace, and refuses one that is written directly", async () => {
    expect((await diffWorkspace(await openSandbox("ro"), { home: at.home, texts, signal })).changes).toEqual([]);
    await expect(diffWorkspace(await openSandbox("rw"), { home: at.home, texts, signal })).rejects.toThrow(/there already/);
    await expect(diffWorkspace(await at.sandboxes.create(LOCAL, {}, signal), { home: at.home, texts, signal })).rejects.toThrow(
      withCode("WORKSPACE_INVALID"),
    );
  });

  it.each([
    ["a path upwards", [row("../evil")]],
    ["an absolute path", [row("/etc/evil")]],
    ["a dot", [row("./evil")]],
    ["an empty part", [row("a//b")]],
    ["a NUL", [row("a\0b")]],
    ["a path that ends in a slash", [row("a/")]],
    ["a name twice", [row("a"), row("a")]],
    ["a file in a file", [row("a"), row("a/b")]],
    ["a file in a link", [row("a", { type: "link", target: "/etc" }), row("a/passwd")]],
    ["a file in nothing", [row("a/b")]],
  ])("refuses a guest that names %s", async (_, rows) => {
    await expect(diffWorkspace(lying(await openSandbox(), ...rows), { home: at.home, texts, signal })).rejects.toThrow(
      withCode("PATH_INVALID"),
    );
  });

  it("refuses more names than fit into memory", async () => {
    const folders = Array.from({ length: 14 }, (_, depth) =>
      row(Array.from({ length: depth + 1 }, () => "d".repeat(250)).join("/"), { type: "directory" }),
    );
    const parent = folders.at(-1)?.path ?? "";
    const files = (function* () {
      for (let count = 0; count < 400_000; count++) yield row(`${parent}/${count}`);
    })();
    const list = (): AsyncIterable<FileInfo> =>
      Readable.from(
        (function* () {
          yield* folders;
          yield* files;
        })(),
      ) as AsyncIterable<FileInfo>;
    await expect(diffWorkspace(withFiles(await openSandbox(), { list }), { home: at.home, texts, signal })).rejects.toThrow(
      withCode("FILE_TOO_LARGE"),
    );
  });

  it("shows names and patches that cannot steer a terminal", async () => {
    const sandbox = await openSandbox();
    await inside(sandbox, "printf '\\033[2Jtext\\n' > \"$(printf '\\033[31mred')\"");
    const diff = await diffWorkspace(sandbox, { home: at.home, texts, signal });
    expect(renderDiff(diff, PLAIN)).toContain("[2Jtext");
    expect(renderDiff(diff, PLAIN)).not.toContain("\u001b");
    expect(JSON.parse(JSON.stringify(toDiffReport(diff)))).toMatchObject({ changes: [{ kind: "added", type: "file" }] });
  });
});
