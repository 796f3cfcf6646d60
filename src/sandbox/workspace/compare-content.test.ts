import { createHash } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { expect, it } from "vitest";
import { WITH_WORKSPACE } from "../../../test/support/run-of.ts";
import type { FileInfo, Guest, Sandbox } from "../sandbox.ts";
import { hashGuestFile, hashHostFile, hashOf, insidePath } from "./compare-content.ts";
import { HostFolder } from "./host-folder.ts";

const { signal } = new AbortController();
const sha256 = (text: string) => createHash("sha256").update(text).digest("hex");

/** A sandbox whose guest answers with these chunks, whatever it is asked for. `asked`: what it was asked for, and how much was read. */
function sandboxOf(chunks: Iterable<string>) {
  const asked: unknown[] = [];
  let read = 0;
  const stream = function* (): Generator<Buffer> {
    for (const chunk of chunks) {
      read += 1;
      yield Buffer.from(chunk);
    }
  };
  const open = async (path: Buffer, { limit }: { readonly limit: number }) => {
    asked.push(path.toString(), limit);
    return { info: {} as FileInfo, content: Readable.from(stream(), { highWaterMark: 1 }) };
  };
  const guest = { files: { open } as Partial<Guest["files"]> } as Partial<Guest> as Guest;
  return { sandbox: { guest, inside: WITH_WORKSPACE } as Partial<Sandbox> as Sandbox, asked, read: () => read };
}

it("asks the guest for the file in the workspace, and for no more than the limit", async () => {
  const { sandbox, asked } = sandboxOf(["ab", "cd"]);
  expect(await hashGuestFile(sandbox, "a/b", { limit: 4, signal })).toBe(sha256("abcd"));
  expect(asked).toEqual(["/workspace/a/b", 4]);
  expect(insidePath(sandbox, "\u00ff")).toEqual(Buffer.concat([Buffer.from("/workspace/"), Buffer.from([0xff])]));
});

it("counts no byte beyond the limit, in the same chunk or a later one", async () => {
  expect(await hashGuestFile(sandboxOf(["abcdef"]).sandbox, "a", { limit: 4, signal })).toBe(sha256("abcd"));
  expect(await hashGuestFile(sandboxOf(["ab", "cdef", "gh"]).sandbox, "a", { limit: 4, signal })).toBe(sha256("abcd"));
});

it("reads on no guest that sends without end", async () => {
  const endless = (function* () {
    for (;;) yield "abcd";
  })();
  const { sandbox, read } = sandboxOf(endless);
  expect(await hashGuestFile(sandbox, "a", { limit: 6, signal })).toBe(sha256("abcdab"));
  expect(read()).toBeLessThan(10);
});

it("finds the same content on both sides", async () => {
  const root = await mkdtemp(join(tmpdir(), "bj-compare-"));
  await writeFile(join(root, "a"), "abcd");
  expect(await hashHostFile(new HostFolder(root), "a", { limit: 9, signal })).toBe(hashOf(Buffer.from("abcd")));
  expect(await hashHostFile(new HostFolder(root), "a", { limit: 2, signal })).toBe(sha256("ab"));
  await rm(root, { recursive: true });
});
