import { createHash } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { sandboxWithFiles } from "../../../../test/support/guest-files.ts";
import { changeOf, fileEntry, folderEntry, linkEntry } from "../../../../test/support/workspace-entries.ts";
import { BelljarError } from "../../../errors.ts";
import { diffTexts } from "../../../text/text-diff.ts";
import type { Texts } from "../../../text/texts.ts";
import type { HostEntry } from "../entry.ts";
import type { WorkspaceChange } from "../workspace-change.ts";
import { makeGitPatch } from "./make-git-patch.ts";

type Content = string | undefined;

let hostPath: string;
beforeEach(() => {
  hostPath = mkdtempSync(join(tmpdir(), "bj-patch-"));
});
afterEach(() => rmSync(hostPath, { recursive: true }));

const blob = (content: string): string =>
  createHash("sha1")
    .update(`blob ${Buffer.byteLength(content)}\0${content}`)
    .digest("hex");
const NONE = "0".repeat(40);

interface Setting {
  readonly modes?: readonly [number, number];
  readonly key?: string;
  readonly change?: Partial<WorkspaceChange>;
  readonly run?: () => Promise<never>;
}

/** The patch of a file: `host` is what it holds on the host, `guest` what it holds inside. */
async function patchOf(host: Content, guest: Content, { modes = [0o644, 0o644], key = "f", change = {}, run }: Setting = {}) {
  if (host !== undefined) writeFileSync(join(hostPath, key), host);
  const entryOf = (content: Content, mode: number, mtimeNs: bigint) =>
    content === undefined ? undefined : fileEntry({ size: Buffer.byteLength(content), mode, mtimeNs });
  const found = changeOf(key, entryOf(guest, modes[1], 2n), entryOf(host, modes[0], 1n));
  return make([{ ...found, ...change } as WorkspaceChange], guest === undefined ? {} : { [key]: guest }, run);
}

async function make(changes: readonly WorkspaceChange[], files: Readonly<Record<string, string>> = {}, run?: () => Promise<never>) {
  const diff = async (_job: string, request: Parameters<typeof diffTexts>[0]) => ({ diff: diffTexts(request).diff });
  const texts = { run: run ?? diff } as unknown as Texts;
  const nothing = { conflicts: [], held: [], settled: [], ignored: 0, commits: 0, skipped: [] };
  const sources = { sandbox: sandboxWithFiles(files), texts, signal: new AbortController().signal };
  return makeGitPatch(sources, { sandboxId: "id", hostPath, changes, ...nothing });
}

describe("a file", () => {
  it("that changed has its hunks, between the two names of its content", async () => {
    expect((await patchOf("a\nb\n", "a\nc\n")).patch).toBe(
      `diff --git a/f b/f\nindex ${blob("a\nb\n")}..${blob("a\nc\n")} 100644\n--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n`,
    );
  });

  it("that came or went has its mode, and no file on the other side", async () => {
    expect((await patchOf(undefined, "a\n", { modes: [0o644, 0o755] })).patch).toBe(
      `diff --git a/f b/f\nnew file mode 100755\nindex ${NONE}..${blob("a\n")}\n--- /dev/null\n+++ b/f\n@@ -0,0 +1,1 @@\n+a\n`,
    );
    expect((await patchOf("a\n", undefined)).patch).toBe(
      `diff --git a/f b/f\ndeleted file mode 100644\nindex ${blob("a\n")}..${NONE}\n--- a/f\n+++ /dev/null\n@@ -1,1 +0,0 @@\n-a\n`,
    );
  });

  it("that is empty and came has no content", async () => {
    expect((await patchOf(undefined, "")).patch).toBe(`diff --git a/f b/f\nnew file mode 100644\nindex ${NONE}..${blob("")}\n`);
  });

  it("that can be executed since has both modes, and no names where its content is the same", async () => {
    expect((await patchOf("a\n", "a\n", { modes: [0o644, 0o755] })).patch).toBe("diff --git a/f b/f\nold mode 100644\nnew mode 100755\n");
    const { patch } = await patchOf("a\n", "b\n", { modes: [0o700, 0o600] });
    expect(patch.split("\n").slice(1, 4)).toEqual(["old mode 100755", "new mode 100644", `index ${blob("a\n")}..${blob("b\n")}`]);
  });

  it("whose other rights changed is none for git", async () => {
    expect(await patchOf("a\n", "a\n", { modes: [0o644, 0o600] })).toEqual({ patch: "", skipped: [] });
  });

  it.each([
    ["a NUL", "a\0b"],
    ["bytes that are no UTF-8", Buffer.from([0xff]).toString("latin1")],
  ])("with %s is written whole, both ways", async (_what, content) => {
    const guest = content === "\u00ff" ? undefined : content;
    if (guest === undefined) writeFileSync(join(hostPath, "f"), Buffer.from([0xff]));
    const { patch } =
      guest === undefined ? await make([changeOf("f", undefined, fileEntry()) as WorkspaceChange]) : await patchOf("a\n", guest);
    expect(patch).toMatch(/\nGIT binary patch\nliteral \d+\n[^]*\nliteral \d+\n/);
    expect(patch).not.toContain("@@");
  });

  it("that is too much work to compare is written whole, and any other failure is told", async () => {
    const fail = (code: "FILE_TOO_LARGE" | "CANCELLED") => () => Promise.reject(new BelljarError(code, "Refused"));
    expect((await patchOf("a\n", "b\n", { run: fail("FILE_TOO_LARGE") })).patch).toContain("GIT binary patch\nliteral 2\n");
    await expect(patchOf("a\n", "b\n", { run: fail("CANCELLED") })).rejects.toMatchObject({ code: "CANCELLED" });
  });

  it("that was merged has what is written, not what the sandbox has", async () => {
    const { patch } = await patchOf("a\n", "b\n", { change: { merged: Buffer.from("both\n") } });
    expect(patch).toContain("\n-a\n+both\n");
  });

  it("that changed inside since the diff is no patch", async () => {
    const wrong = fileEntry({ size: 7 });
    await expect(patchOf("a\n", "b\n", { change: { guest: wrong } })).rejects.toMatchObject({ code: "WORKSPACE_CONFLICT" });
  });
});

describe("what is no plain file", () => {
  const change = (guest?: HostEntry, host?: HostEntry): WorkspaceChange => changeOf("l", guest, host) as WorkspaceChange;

  it("is a link with its text, which ends in no line break", async () => {
    expect((await make([change(linkEntry("x"), linkEntry("y"))])).patch).toBe(
      `diff --git a/l b/l\nindex ${blob("y")}..${blob("x")} 120000\n--- a/l\n+++ b/l\n` +
        "@@ -1,1 +1,1 @@\n-y\n\\ No newline at end of file\n+x\n\\ No newline at end of file\n",
    );
  });

  it("is gone and made anew where a link takes a file's place", async () => {
    writeFileSync(join(hostPath, "l"), "a");
    const { patch } = await make([change(linkEntry("x"), fileEntry())]);
    expect(patch.match(/^(?:diff|deleted|new).*/gm)).toEqual([
      "diff --git a/l b/l",
      "deleted file mode 100644",
      "diff --git a/l b/l",
      "new file mode 120000",
    ]);
  });

  it("is nothing for git if it is a folder", async () => {
    expect(await make([change(folderEntry()), change(undefined, folderEntry())])).toEqual({ patch: "", skipped: [] });
    expect((await make([change(folderEntry(), linkEntry("x"))])).patch).toContain("deleted file mode 120000");
  });
});

describe("what is left out", () => {
  it("is a repository's own file, with the reason, and the rest is there", async () => {
    const own = changeOf(".git/config", fileEntry(), undefined) as WorkspaceChange;
    const made = await make([own, changeOf("f", fileEntry({ size: 2 }), undefined) as WorkspaceChange], { f: "a\n" });
    expect(made.skipped).toEqual([{ path: ".git/config", reason: "git takes no patch of a repository's own files" }]);
    expect(made.patch).toMatch(/^diff --git a\/f b\/f\n/);
  });

  it("is what the sandbox's user may not read", async () => {
    const change = changeOf("f", fileEntry(), undefined) as WorkspaceChange;
    const sandbox = sandboxWithFiles({});
    const read = () => Promise.reject(new BelljarError("FILE_DENIED", "Not yours"));
    const guest = { ...sandbox.guest, files: { ...sandbox.guest.files, read } };
    const nothing = { conflicts: [], held: [], settled: [], ignored: 0, commits: 0, skipped: [] };
    const sources = { sandbox: { ...sandbox, guest }, texts: {} as Texts, signal: new AbortController().signal };
    const made = await makeGitPatch(sources, { sandboxId: "id", hostPath, changes: [change], ...nothing });
    expect(made).toEqual({ patch: "", skipped: [{ path: "f", reason: "Not yours" }] });
  });
});

it("a patch of more than 64 MiB of both sides is refused, and links and folders count nothing", async () => {
  const half = 32 * 1024 * 1024;
  const big = (size: number): WorkspaceChange =>
    changeOf(".git/big", fileEntry({ size, mtimeNs: 2n }), fileEntry({ size: half })) as WorkspaceChange;
  const link = changeOf(".git/l", linkEntry("x", { size: half }), undefined) as WorkspaceChange;
  await expect(make([big(half + 1)])).rejects.toMatchObject({ code: "FILE_TOO_LARGE", message: expect.stringContaining("64 MiB") });
  expect((await make([big(half), link])).skipped).toHaveLength(2);
});
