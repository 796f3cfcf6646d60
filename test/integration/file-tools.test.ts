import { mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { expect, it } from "vitest";
import { createCatalog } from "../../src/catalog/catalog.ts";
import { fixedTools } from "../../src/catalog/tool-source.ts";
import type { ToolResult } from "../../src/catalog/tool.ts";
import { findPackagedPrograms } from "../../src/cli/compose/packaged-programs.ts";
import { openRuntime } from "../../src/runtime/registry.ts";
import { createLocalSandboxes } from "../../src/sandbox/local-sandboxes.ts";
import type { CreateOptions } from "../../src/sandbox/sandbox.ts";
import { LOCAL } from "../../src/sandbox/sandbox.ts";
import { fileTools } from "../../src/tools/files/file-tools.ts";
import { searchToolset } from "../../src/tools/search/search-toolset.ts";
import { createTestTexts } from "../support/test-texts.ts";
import { textOf } from "../support/tool-caller.ts";
import { byName } from "../support/by-name.ts";

const binary = resolve(import.meta.dirname, "../../native/build/belljar-native");
const limits = { execTimeoutMs: 60_000, maxOutputBytes: 1_048_576, listMax: 1_000 };
const signal = AbortSignal.timeout(300_000);
/** First on the path of every command, and writable. */
const OWN_PROGRAMS = "/home/user/bin";
/** Whom the template's files belong to inside: an ordinary user's are its own, as the docs say. */
const TEMPLATE_OWNER = process.getuid?.() === 0 ? "root" : "user";

/** The files and search tools on the real runtime, with the programs that Belljar puts into its sandboxes. */
async function openPlace(more: CreateOptions = {}, storage: "home" | "tmpfs" = "home") {
  const root = realpathSync(mkdtempSync(join(tmpdir(), "bj-")));
  const config = { sandbox: { timeoutMs: 600_000 }, listMax: 100, tombstoneRetentionMs: 600_000 };
  const home = join(root, "home");
  const programs = findPackagedPrograms();
  const runtime = await openRuntime("namespace", { home, runtimeDirectory: join(root, "run"), storage, binary, programs });
  const sandboxes = createLocalSandboxes({ home, runtimes: byName(runtime), config });
  const texts = createTestTexts();
  const options = { ...more, env: { PATH: `${OWN_PROGRAMS}:/usr/local/bin:/usr/bin:/bin` } };
  // A catalog of its own has its own tools, as another server has.
  const open = () =>
    createCatalog({
      sources: [fixedTools([...fileTools(limits, texts), ...searchToolset(limits)])],
      sandboxes,
      defaultSandbox: () => ({ name: "default", options }),
    });
  const { sandbox } = await sandboxes.default(LOCAL, "default", options, signal);
  let catalog = open();
  return {
    call: (name: string, args: unknown): Promise<ToolResult> => catalog.call(LOCAL, name, args, { signal }),
    restart: () => void (catalog = open()),
    sh: async (command: string, user = "user") => {
      const { stdout } = await sandbox.guest.run({ argv: ["sh", "-c", command], user, signal });
      return stdout.toString();
    },
    async [Symbol.asyncDispose]() {
      texts[Symbol.dispose]();
      await sandbox.kill();
      await sandboxes[Symbol.asyncDispose]();
      rmSync(root, { recursive: true });
    },
  };
}

it("takes back edits after a restart, out of reach of the sandbox's user", async () => {
  await using place = await openPlace();
  await place.call("write_file", { path: "a", content: "one\n" });
  await place.call("edit_file", { path: "a", edits: [{ old_string: "one", new_string: "two" }] });
  expect(await place.sh("stat -c '%U %a' /var/lib/belljar/undo")).toBe("root 700\n");
  const level = (await place.sh("ls /var/lib/belljar/undo | grep -v none", "root")).trim();
  const attempts = [`cat $level`, `rm -f $level`, `echo x > $level`, `ls /var/lib/belljar/undo`].join("; ");
  expect(await place.sh(`level=/var/lib/belljar/undo/${level}; (${attempts}) 2>/dev/null; echo done`)).toBe("done\n");
  place.restart();
  expect((await place.call("undo_edit", { path: "a" })).value).toMatchObject({ levels_left: 1 });
  expect(await place.sh("cat a; stat -c %U a")).toBe("one\nuser\n");
});

it("keeps no level of a change that is refused", async () => {
  await using place = await openPlace();
  await place.sh("mkdir closed; echo one > closed/a; chmod 555 closed");
  expect((await place.call("write_file", { path: "closed/a", content: "two\n" })).isError).toBe(true);
  expect(await place.sh("ls -A /var/lib/belljar/undo | wc -l; cat /home/user/closed/a", "root")).toBe("0\none\n");
});

it("edits on a disk that has no room for the old file, and keeps no half of it", async () => {
  await using place = await openPlace({ limits: { diskBytes: 16 * 1_048_576 } }, "tmpfs");
  await place.sh("head -c 7000000 /dev/zero > old; cat /dev/zero > filler 2>/dev/null; truncate -s -3000000 filler");
  const result = await place.call("write_file", { path: "old", content: "new\n".repeat(500_000) });
  expect(result.value).toMatchObject({ size: 2_000_000, undo_problem: expect.stringContaining("DISK_FULL") });
  expect(await place.sh("ls -A /var/lib/belljar/undo | wc -l", "root")).toBe("0\n");
});

it("takes nothing from levels that root inside has changed", async () => {
  await using place = await openPlace();
  await place.sh("echo zero > a");
  for (const damage of ["echo junk > $f", ": > $f", "truncate -s 9000000 $f", "mv $f x$f", "mv $f $(echo $f | tr 0-9 9)"]) {
    await place.call("write_file", { path: "a", content: `before ${damage}\n` });
    await place.sh(`cd /var/lib/belljar/undo; for f in *; do ${damage}; done`, "root");
    expect(textOf(await place.call("undo_edit", { path: "a", force: true }))).toMatch(/^UNDO_NOT_FOUND: /);
    expect(await place.sh("cat a")).toBe(`before ${damage}\n`);
  }
  await place.sh(
    "cd /var/lib/belljar/undo; i=0; while [ $i -lt 2500 ]; do : > x$i; i=$((i+1)); done; rm -rf $(ls | grep -v ^x); ln -s /etc/passwd 00000000000000000000000000000000-0000000001",
    "root",
  );
  await place.call("write_file", { path: "a", content: "again\n" });
  expect(await place.sh("ls /var/lib/belljar/undo | wc -l", "root")).toBe("1\n");
  expect(await place.sh("grep -c ^root: /etc/passwd")).toBe("1\n");
});

it("acts with the rights of the sandbox's user alone", async () => {
  await using place = await openPlace();
  await place.sh(
    "echo secret > /root/secret; ln -s /root/secret /home/user/link; chown -h user /home/user/link; echo mine > /etc/mine",
    "root",
  );
  const edits = [{ old_string: "secret", new_string: "x" }];
  expect(textOf(await place.call("edit_file", { path: "link", edits }))).toMatch(/^FILE_DENIED: /);
  expect(textOf(await place.call("write_file", { path: "/etc/mine", content: "x" }))).toMatch(/^FILE_DENIED: /);
  expect(textOf(await place.call("undo_edit", { path: "/etc/mine" }))).toMatch(/^UNDO_NOT_FOUND: /);
  expect(textOf(await place.call("apply_patch", { patch: "--- /etc/mine\n+++ /etc/mine\n@@ -1 +1 @@\n-mine\n+x\n" }))).toMatch(
    /^FILE_DENIED: /,
  );
  expect(await place.sh("cat /root/secret /etc/mine", "root")).toBe("secret\nmine\n");
});

it("waits for nothing that is no file", async () => {
  await using place = await openPlace();
  await place.sh("mkfifo pipe; ln -s loop loop; ln -s nowhere dangling");
  for (const [name, args] of [
    ["read_file", { path: "pipe" }],
    ["edit_file", { path: "pipe", edits: [{ old_string: "a", new_string: "b" }] }],
    ["read_file", { path: "loop" }],
    ["search_content", { pattern: "x", path: "loop" }],
    ["edit_file", { path: "dangling", edits: [{ old_string: "a", new_string: "b" }] }],
  ] as const) {
    expect((await place.call(name, args)).isError, `${name} ${args.path}`).toBe(true);
  }
  expect((await place.call("search_content", { pattern: "x" })).value).toMatchObject({ matches: [] });
  expect((await place.call("delete_file", { path: "pipe" })).value).toMatchObject({ type: "other" });
});

it("moves between file systems", async () => {
  await using place = await openPlace();
  await place.call("write_file", { path: "/tmp/a", content: "x\n", mode: "750" });
  await place.call("move_file", { source: "/tmp/a", destination: "b" });
  expect(await place.sh("stat -c %a b; cat b; ls -A /tmp")).toBe("750\nx\n");
  await place.sh("mkdir -p /tmp/tree/sub; echo y > /tmp/tree/sub/y; ln -s sub/y /tmp/tree/link");
  expect(textOf(await place.call("move_file", { source: "/tmp/tree", destination: "b" }))).toMatch(/^FILE_EXISTS: /);
  await place.call("move_file", { source: "/tmp/tree", destination: "tree" });
  expect(await place.sh("cat tree/link; readlink tree/link; ls -A . /tmp | grep -c belljar- || true; ls -A /tmp")).toBe("y\nsub/y\n0\n");
});

it("searches with the programs that it brings along", async () => {
  await using place = await openPlace();
  await place.call("write_file", { path: "src/a.ts", content: "export const a = call(\n  1,\n);\n" });
  expect((await place.call("search_files", { pattern: "**/*.ts" })).value).toMatchObject({ files: ["src/a.ts"] });
  expect((await place.call("search_content", { pattern: "call" })).value).toMatchObject({ matches: [{ line: 1 }] });
  expect((await place.call("search_code", { pattern: "call($$$A)" })).value).toMatchObject({
    matches: [{ line: 1, end_line: 3 }],
  });
  expect(
    await place.sh(
      "which rg ast-grep; /opt/belljar/bin/rg --version | head -1 | cut -d' ' -f1; stat -c '%U %a' /opt/belljar/bin/rg /opt/belljar/bin/ast-grep",
    ),
  ).toMatch(new RegExp(`ripgrep\n${TEMPLATE_OWNER} 755\n${TEMPLATE_OWNER} 755\n$`));
});

it("reads a PDF where the sandbox has pdftotext", async () => {
  await using place = await openPlace();
  await place.sh(
    `mkdir -p bin; printf '#!/bin/sh\\n[ "$4" = /home/user/-a.pdf ] && seq 1 5 || { echo broken >&2; exit 1; }\\n' > bin/pdftotext; chmod 755 bin/pdftotext`,
  );
  await place.call("write_file", { path: "-a.pdf", content: "%PDF-1.7\n" });
  await place.call("write_file", { path: "b.pdf", content: "%PDF-1.7\n" });
  const result = await place.call("read_file", { path: "-a.pdf", start_line: 2, end_line: 3 });
  expect(result.value).toMatchObject({ content: "2\n3\n", start_line: 2, end_line: 3, mime_type: "application/pdf", size: 9 });
  expect(textOf(await place.call("read_file", { path: "b.pdf" }))).toBe('FILE_NOT_TEXT: The PDF "b.pdf" gives no text: broken');
});

it("shows a page of a PDF as a picture: one that is asked for, or the first of a PDF without text", async () => {
  await using place = await openPlace();
  const draw = '[ "$1 $2 $3 $4 $5 $6 $9" = "-jpeg -f $PAGE -l $PAGE -singlefile /home/user/a.pdf" ]';
  await place.sh(
    [
      "mkdir -p bin",
      "printf '#!/bin/sh\\nprintf \"\\\\f\"\\n' > bin/pdftotext",
      `printf '#!/bin/sh\\ncase $3 in 9) echo no page 9 >&2; exit 99;; 8) exec head -c 5000000 /dev/zero;; esac\\nPAGE=$3\\n%s && echo picture $PAGE || { echo wrong $* >&2; exit 1; }\\n' '${draw}' > bin/pdftoppm`,
      "chmod 755 bin/*",
    ].join("; "),
  );
  await place.call("write_file", { path: "a.pdf", content: "%PDF-1.7\n" });
  const picture = (page: number) => [
    { type: "text", text: `/home/user/a.pdf: page ${page} as image/jpeg, 10 bytes` },
    { type: "image", data: Buffer.from(`picture ${page}\n`).toString("base64"), mimeType: "image/jpeg" },
  ];
  expect((await place.call("read_file", { path: "a.pdf" })).content).toEqual(picture(1));
  expect((await place.call("read_file", { path: "a.pdf", page: 3 })).content).toEqual(picture(3));
  const missing = 'FILE_NOT_TEXT: Page 9 of the PDF "a.pdf" gives no picture: no page 9';
  expect(textOf(await place.call("read_file", { path: "a.pdf", page: 9 }))).toBe(missing);
  expect(textOf(await place.call("read_file", { path: "a.pdf", page: 8 }))).toMatch(/^FILE_TOO_LARGE: /);
  await place.call("write_file", { path: "b.txt", content: "text" });
  expect(textOf(await place.call("read_file", { path: "b.txt", page: 1 }))).toMatch(/^ARGUMENTS_INVALID: "b\.txt" is not read as a PDF/);
});
