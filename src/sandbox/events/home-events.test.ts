import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { sandboxRecord } from "../../../test/support/sandbox-record.ts";
import { CREATOR } from "../creator.ts";
import { Journal } from "../journal.ts";
import type { SandboxRecord } from "../sandbox-record.ts";
import { LOCAL, type Principal } from "../sandbox.ts";
import { HomeEvents } from "./home-events.ts";

const NEVER = new AbortController().signal;
const OTHER = { id: "token:ci", name: "ci" };
const RESYNC = { type: "resync" };
const ID = "a".repeat(20);
const END = { reason: "killed", at: new Date(1), isCleared: true } as const;
const created = (sandbox: string) => ({ type: "created", sandbox });
const changed = (sandbox: string) => ({ type: "changed", sandbox });
const ended = (sandbox: string) => ({ type: "ended", sandbox, reason: "killed" });
/** One that its maker, this process, may still be making. */
const young = (id: string, more: Partial<SandboxRecord> = {}) => sandboxRecord({ id, createdAt: new Date(), creator: CREATOR, ...more });

/** The events of a home whose sandboxes are files alone. `follow`: what holding one says; by default each is made. */
async function openHome(follow: (record: SandboxRecord) => Promise<boolean> = async () => true) {
  const home = await mkdtemp(join(tmpdir(), "bj-events-"));
  const problems: string[] = [];
  const followed: string[] = [];
  const journal = new Journal(home, (problem) => problems.push(problem));
  const events = new HomeEvents({
    journal,
    report: (problem) => problems.push(problem),
    follow: (record) => (followed.push(record.id), follow(record)),
  });
  const readers: AsyncGenerator<unknown, void, undefined>[] = [];
  return {
    journal,
    events,
    problems,
    followed,
    /** A reader that has had its first event. `next` gives the later ones. */
    async read(principal: Principal = LOCAL, signal = NEVER) {
      const reader = events.read(principal, signal);
      readers.push(reader);
      expect((await reader.next()).value).toEqual(RESYNC);
      return { next: async () => (await reader.next()).value, close: () => reader.return() };
    },
    async [Symbol.asyncDispose]() {
      await events[Symbol.asyncDispose]();
      for (const reader of readers) await reader.return();
      await rm(home, { recursive: true });
    },
  };
}

it("tells of a sandbox once it is made, of its changes and its end", async () => {
  await using home = await openHome();
  const reader = await home.read();
  home.journal.write(young(ID));
  expect(await reader.next()).toEqual(created(ID));
  home.journal.announce(ID);
  expect(await reader.next()).toEqual(changed(ID));
  await home.journal.writeEnd(ID, END);
  expect(await reader.next()).toEqual(ended(ID));
});

it("does not tell as created what the list after the first event shows", async () => {
  await using home = await openHome();
  home.journal.write(sandboxRecord({ id: ID }));
  home.journal.write(young("b".repeat(20)));
  const reader = await home.read();
  home.journal.announce(ID);
  expect(await reader.next()).toEqual(changed(ID));
  home.journal.announce("b".repeat(20));
  expect(await reader.next()).toEqual(changed("b".repeat(20)));
});

it("tells as created what was in the making at the first look", async () => {
  let isMade = false;
  await using home = await openHome(async () => isMade);
  home.journal.write(young(ID));
  const reader = await home.read();
  isMade = true;
  home.journal.announce(ID);
  expect(await reader.next()).toEqual(created(ID));
});

it("tells nothing of one that cannot be held, and says that its end may be told late", async () => {
  await using home = await openHome(async ({ id }) => {
    if (id === ID) throw new Error("no keeper");
    return true;
  });
  const reader = await home.read();
  home.journal.write(young(ID));
  home.journal.write(young("b".repeat(20)));
  expect(await reader.next()).toEqual(created("b".repeat(20)));
  expect(home.problems).toEqual(["The end of a sandbox may be told late: Error: no keeper"]);
});

it("tells the end of one that was never told as made, since a list may have shown it", async () => {
  let see = (): void => undefined;
  const isSeen = new Promise<void>((resolve) => (see = resolve));
  await using home = await openHome(async () => (see(), false));
  const reader = await home.read();
  home.journal.write(young(ID));
  await isSeen;
  await home.journal.writeEnd(ID, END);
  expect(await reader.next()).toEqual(ended(ID));
});

it("asks for a new list after somebody removed a folder by hand", async () => {
  await using home = await openHome();
  home.journal.write(sandboxRecord({ id: ID }));
  const reader = await home.read();
  await home.journal.remove(ID);
  expect(await reader.next()).toEqual(RESYNC);
});

it("tells each owner of its own sandboxes, and holds none of an owner without a reader", async () => {
  await using home = await openHome();
  const mine = await home.read();
  home.journal.write(young(ID, { owner: OTHER.id }));
  home.journal.write(young("b".repeat(20)));
  expect(await mine.next()).toEqual(created("b".repeat(20)));
  expect(home.followed).toEqual(["b".repeat(20)]);
  const others = await home.read(OTHER);
  home.journal.announce(ID);
  expect(await others.next()).toEqual(changed(ID));
  expect(home.followed).toContain(ID);
});

it("tells an agent that sees its own project nothing of another one", async () => {
  await using home = await openHome();
  const agent = await home.read({ ...LOCAL, project: { folder: "/srv/a", sees: "own" } });
  home.journal.write(young(ID, { project: "/srv/b" }));
  home.journal.write(young("b".repeat(20), { project: "/srv/a" }));
  expect(await agent.next()).toEqual(created("b".repeat(20)));
});

it("reports a sandbox that cannot be read, and goes on with the others", async () => {
  await using home = await openHome();
  const read = home.journal.read.bind(home.journal);
  const journal = Object.assign(home.journal, {
    read: (id: string) => (id === ID ? Promise.reject(new Error("EIO")) : read(id)),
  });
  const reader = await home.read();
  journal.write(young(ID));
  journal.write(young("b".repeat(20)));
  expect(await reader.next()).toEqual(created("b".repeat(20)));
  expect(home.problems).toEqual([`Changes of sandbox ${ID} are not seen: Error: EIO`]);
});

it("reads nothing for a reader that is gone already, nor once it is closed", async () => {
  await using home = await openHome();
  expect(await home.events.read(LOCAL, AbortSignal.abort()).next()).toEqual({ done: true, value: undefined });
  const reader = await home.read();
  const waiting = reader.next();
  await home.events[Symbol.asyncDispose]();
  expect(await waiting).toBeUndefined();
  expect(await home.events.read(LOCAL, NEVER).next()).toEqual({ done: true, value: undefined });
});

it("waits as it closes for what it is about to hold", async () => {
  let finish = (): void => undefined;
  const asked = new Promise<void>((resolve) => (finish = resolve));
  let release = (): void => undefined;
  const held = new Promise<boolean>((resolve) => (release = () => resolve(true)));
  await using home = await openHome(() => (finish(), held));
  await home.read();
  home.journal.write(young(ID));
  await asked;
  let isClosed = false;
  const closing = home.events[Symbol.asyncDispose]().then(() => (isClosed = true));
  await new Promise((resolve) => setImmediate(resolve));
  expect(isClosed).toBe(false);
  release();
  await closing;
});
