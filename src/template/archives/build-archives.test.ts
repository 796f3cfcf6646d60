import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { BuildArchives } from "./build-archives.ts";

const hashOf = (digit: string): string => digit.repeat(64);

async function open(limits: { readonly uploads: number; readonly bytes: number }) {
  const home = await mkdtemp(join(tmpdir(), "belljar-archives-"));
  const archives = new BuildArchives(home, limits);
  return {
    archives,
    invite: async (owner: string, digit = "a") => archives.invite(owner, hashOf(digit)),
    unfinished: async () =>
      (await readdir(join(home, "templates", "archives"), { recursive: true })).filter((path) => path.includes(".new-")),
    [Symbol.asyncDispose]: () => rm(home, { recursive: true, force: true }),
  };
}

/** A body that stands still after its first bytes until it may end. */
function openBody(bytes: number) {
  let [tell, end] = [(): void => undefined, (): void => undefined];
  const taken = new Promise<void>((resolve) => (tell = resolve));
  const ended = new Promise<void>((resolve) => (end = resolve));
  async function* content(): AsyncGenerator<Buffer> {
    yield Buffer.alloc(bytes);
    tell();
    await ended;
  }
  return { content: content(), taken, end: () => end() };
}

async function* body(...sizes: readonly number[]): AsyncGenerator<Buffer> {
  for (const size of sizes) yield Buffer.alloc(size);
}

const refused = { code: "QUOTA_EXCEEDED", retryAfterMs: 1_000 };

it("takes so many uploads of one owner at a time, and keeps the ticket of one too many", async () => {
  await using lab = await open({ uploads: 2, bytes: 1_000 });
  const { archives, invite } = lab;
  const tickets = [await invite("ann", "a"), await invite("ann", "b"), await invite("ann", "c")] as const;
  const [first, second] = [openBody(1), openBody(1)];
  const running = Promise.all([archives.store(tickets[0], first.content), archives.store(tickets[1], second.content)]);
  await expect(archives.store(tickets[2], body(1))).rejects.toMatchObject(refused);
  await archives.store(await invite("bob"), body(1));
  first.end();
  second.end();
  await running;
  await archives.store(tickets[2], body(1));
  expect(await archives.find("ann", hashOf("c"))).toBeDefined();
});

it("counts the bytes of an owner's uploads while they come, and leaves nothing of one that has too many", async () => {
  await using lab = await open({ uploads: 8, bytes: 1_000 });
  const { archives, invite } = lab;
  const slow = openBody(600);
  const first = archives.store(await invite("ann", "a"), slow.content);
  await slow.taken;
  await expect(archives.store(await invite("ann", "b"), body(300, 300))).rejects.toMatchObject(refused);
  await archives.store(await invite("bob"), body(900));
  // What was refused counts no more.
  await archives.store(await invite("ann", "d"), body(300));
  slow.end();
  await first;
  await archives.store(await invite("ann", "c"), body(900));
  expect([await archives.find("ann", hashOf("b")), await archives.find("ann", hashOf("c"))]).toEqual([undefined, expect.any(String)]);
  expect(await lab.unfinished()).toEqual([]);
});
