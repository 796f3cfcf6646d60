import { setMaxListeners } from "node:events";
import { mkdir, mkdtemp, realpath } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect } from "vitest";
import { BelljarError } from "../../src/errors.ts";
import { createGuest } from "../../src/runtime/guest/create-guest.ts";
import type { Guest } from "../../src/runtime/guest/guest.ts";
import { NamespaceSandbox } from "../../src/runtime/namespace/running-sandbox.ts";
import type { RunningSandbox, Usage } from "../../src/runtime/contract/run.ts";
import { createLocalSandboxes } from "../../src/sandbox/local-sandboxes.ts";
import type { LocalSandboxes } from "../../src/sandbox/local-sandboxes-options.ts";
import { LIVE_STATES, LOCAL, type Sandbox } from "../../src/sandbox/sandbox.ts";
import { diffWorkspace } from "../../src/sandbox/workspace/workspace-diff.ts";
import { drips, findSpeakers, freeze, hideSocket, LIES, replaceGuest } from "../support/freeze.ts";
import { FILE_CALLS, GUEST_CALLS, type GuestCall } from "../support/guest-calls.ts";
import { createTestTexts } from "../support/test-texts.ts";
import { type Box, openTestRuntime, useLab } from "./support/lab.ts";
import { newMark, processesOf, removeFolder } from "./support/outside.ts";
import { verifies } from "./verifies.ts";
import { byName } from "../support/by-name.ts";
import { listed } from "../support/listed.ts";
import { runName, runOf } from "../support/run-of.ts";

const lab = useLab();
const NEVER = new AbortController().signal;
setMaxListeners(0, NEVER);
/** Far below what a person waits, and far above what a silent one is granted in these tests. */
const ANSWER_MS = 300;
const CALLS = { ...GUEST_CALLS, ...FILE_CALLS };

const socketsOf = ({ running }: Box): string => join(lab.home, "../run", runName(running.id));

type Calls = Readonly<Record<string, GuestCall>>;

/** How each call ends that nobody answers. */
async function endsOf(running: RunningSandbox, calls: Calls = CALLS): Promise<Readonly<Record<string, string>>> {
  return endsWith(
    createGuest((signal) => running.connect(signal), { answerMs: ANSWER_MS, ended: running.ended }),
    calls,
  );
}

async function endsWith(guest: Guest, calls: Calls, patience = NEVER): Promise<Readonly<Record<string, string>>> {
  const ends = await Promise.all(Object.entries(calls).map(async ([name, call]) => [name, await endOf(call(guest, patience))] as const));
  return Object.fromEntries(ends);
}

async function endOf(work: Promise<unknown>): Promise<string> {
  return work.then(
    () => "answered",
    (cause: unknown) => (cause instanceof BelljarError ? cause.code : String(cause)),
  );
}

const ALL_SILENT = {
  ...Object.fromEntries(Object.keys(CALLS).map((name) => [name, "SANDBOX_UNRESPONSIVE"])),
  accept: "Error: the wait was ended by its caller",
};
/** A guest that wakes does what lies before it, and this would be its end. */
const { shutdown: _shutdown, ...HARMLESS } = CALLS;
const { shutdown: _silent, ...HARMLESS_SILENT } = { shutdown: "", ...ALL_SILENT };

/**
 * A drip is a fault of every call but of those whose work may take long: their callers end these. A wait for connections is ended by
 * its caller or by the drip, whichever comes first.
 */
const { remove, copy, accept: _accept, ...SHORT } = CALLS;
const LONG = { remove, copy };
const ALL_DRIPPED = [
  { ...Object.fromEntries(Object.keys(SHORT).map((name) => [name, "GUEST_PROTOCOL"])), listen: "answered" },
  { remove: "CANCELLED", copy: "CANCELLED" },
];

interface Home extends AsyncDisposable {
  readonly sandboxes: LocalSandboxes;
  make(): Promise<Sandbox>;
  folder(sandbox: Pick<Sandbox, "id">): string;
  /** Another process of the home. */
  look(): LocalSandboxes;
}

async function openHome(): Promise<Home> {
  const root = await realpath(await mkdtemp(join(tmpdir(), "bj-silence-")));
  const [path, home] = [join(root, "work"), join(root, "home")];
  await mkdir(path);
  const config = { sandbox: { timeoutMs: 600_000 }, listMax: 100, tombstoneRetentionMs: 600_000 };
  const look = (): LocalSandboxes => createLocalSandboxes({ home, runtimes: byName(lab.runtime), config });
  const sandboxes = look();
  return {
    sandboxes,
    make: () => sandboxes.create(LOCAL, { workspace: { path, mode: "copy" } }, AbortSignal.timeout(60_000)),
    folder: ({ id }) => join(home, "sandboxes", id),
    look,
    async [Symbol.asyncDispose]() {
      for (const { id } of await listed(sandboxes, LOCAL, { state: LIVE_STATES })) await (await sandboxes.get(LOCAL, id)).kill();
      await sandboxes[Symbol.asyncDispose]();
      await removeFolder(root);
    },
  };
}

/** Where the host has no memory groups, the guest counts: whoever opens a sandbox asks it. */
async function usageWithoutGroups(id: string, folder: string): Promise<Usage> {
  const running = new NamespaceSandbox({
    run: runOf(id, folder),
    sockets: join(lab.home, "../run", runName(id)),
    countsUsage: false,
    isUp: false,
    clear: async () => undefined,
  });
  try {
    return await running.usage();
  } finally {
    await running.release();
  }
}

verifies(
  "silence-bounded",
  async () => {
    await using box = await lab.box();
    const { guest } = findSpeakers(box.folder);
    await using running = await box.guest.exec({ argv: ["sleep", "600"], stdin: false, signal: NEVER });
    const long = createGuest((signal) => box.running.connect(signal), { answerMs: ANSWER_MS });
    await using started = await long.exec({ argv: ["sleep", "600"], stdin: false, signal: NEVER });
    const timed = box.guest.run({ argv: ["sleep", "600"], timeoutMs: 500, signal: NEVER });
    const frozen = await freeze(guest);
    // The guest's own timeout passes and nobody acts on it: without the host's, this would wait as long as the guest does.
    expect(await endOf(timed)).toBe("SANDBOX_UNRESPONSIVE");
    expect(await endOf(started.exited)).toBe("SANDBOX_UNRESPONSIVE");
    expect(await endsOf(box.running, HARMLESS)).toEqual(HARMLESS_SILENT);
    await frozen[Symbol.asyncDispose]();
    // Nobody spoke for it, so its silence cost it nothing.
    await box.guest.ping(AbortSignal.timeout(20_000));
    running.kill(9);
    expect((await running.exited).signal).toBe("SIGKILL");
    for (const lie of Object.values(LIES)) {
      await using _liar = await replaceGuest(socketsOf(box), lie);
      if (lie !== drips) expect(await endsOf(box.running)).toEqual(ALL_SILENT);
      // With the default time for an answer: a drip comes before that, however busy the machine is.
      else expect([await endsWith(box.guest, SHORT), await endsWith(box.guest, LONG, AbortSignal.timeout(1_000))]).toEqual(ALL_DRIPPED);
    }
    await box.guest.ping(AbortSignal.timeout(20_000));
  },
  60_000,
);

verifies(
  "silent-sandboxes-end",
  async () => {
    for (const silent of ["guest", "keeper"] as const) {
      const mark = newMark();
      await using box = await lab.box({ ephemeral: false });
      await using _left = await box.guest.exec({ argv: ["sleep", mark], stdin: false, signal: NEVER });
      const speakers = findSpeakers(box.folder);
      await using _frozen = await freeze(speakers[silent]);
      const usage = endOf(box.running.usage());
      expect(await usage).toBe(silent === "keeper" ? "SANDBOX_UNRESPONSIVE" : "answered");
      expect(await box.running.kill("killed")).toMatchObject({ reason: "killed" });
      expect(await processesOf(mark)).toEqual([]);
      expect(await lab.runtime.open(runOf(box.running.id, box.folder))).toBeUndefined();
      expect(await lab.runtime.clear(runOf(box.running.id, box.folder))).toMatchObject({ reason: "killed" });
    }
  },
  60_000,
);

verifies(
  "silent-sandboxes-end",
  async () => {
    await using home = await openHome();
    const [good, numb, mute] = [await home.make(), await home.make(), await home.make()];
    const [silentGuest, silentKeeper] = [findSpeakers(home.folder(numb)).guest, findSpeakers(home.folder(mute)).keeper];
    await using _guest = await freeze(silentGuest);
    await using _keeper = await freeze(silentKeeper);
    const states = async (sandboxes: LocalSandboxes) =>
      Object.fromEntries((await listed(sandboxes, LOCAL)).map(({ id, state, stateReason }) => [id, [state, stateReason]]));
    const seen = {
      [good.id]: ["running", undefined],
      [numb.id]: ["unresponsive", "its guest does not answer"],
      [mute.id]: ["unresponsive", "its keeper does not answer"],
    };
    // The process that made them, and one that only looks.
    expect(await states(home.sandboxes)).toEqual(seen);
    await using other = home.look();
    expect(await states(other)).toEqual(seen);
    expect(await other.info(LOCAL, numb.id)).toMatchObject({ state: "unresponsive", deadline: expect.any(Date) });
    const calls = [
      numb.ports(),
      diffWorkspace(numb, { home: "", texts: createTestTexts(), signal: NEVER }),
      mute.extend(60_000),
      mute.usage(),
    ];
    expect(await Promise.all(calls.map(endOf))).toEqual(calls.map(() => "SANDBOX_UNRESPONSIVE"));
    await numb.extend(60_000);
    expect((await numb.usage()).phase).toBe("running");
    for (const { id } of [numb, mute]) await (await other.get(LOCAL, id)).kill();
    expect(await states(other)).toMatchObject({
      [good.id]: ["running", undefined],
      [numb.id]: ["ended", undefined],
      [mute.id]: ["ended", undefined],
    });
  },
  120_000,
);

verifies(
  "silent-sandboxes-end",
  async () => {
    for (const lie of Object.values(LIES)) {
      await using home = await openHome();
      const { id } = await home.make();
      await using _liar = await replaceGuest(join(lab.home, "../run", runName(id)), lie);
      await using other = home.look();
      expect((await listed(other, LOCAL)).map((info) => info.id)).toEqual([id]);
      expect(await usageWithoutGroups(id, home.folder({ id }))).toMatchObject({ phase: "running" });
      await (await other.get(LOCAL, id)).kill();
      expect(await other.info(LOCAL, id)).toMatchObject({ state: "ended", endReason: "killed" });
    }
  },
  120_000,
);

verifies(
  "silent-sandboxes-end",
  async () => {
    const mark = newMark();
    await using box = await lab.box({ ephemeral: false });
    await using _left = await box.guest.exec({ argv: ["sleep", mark], stdin: false, signal: NEVER });
    // A host that can neither reach the keeper nor start what clears: nothing ends, and nobody is told that it did.
    const helpless = await openTestRuntime(lab.home, join(lab.home, "../run"), { binary: "/nonexistent" });
    await using running = await helpless.open(runOf(box.running.id, box.folder));
    await using hidden = await hideSocket(join(socketsOf(box), "keeper"));
    expect(await endOf(Promise.resolve(running?.kill("killed")))).toBe("RUNTIME_UNAVAILABLE");
    expect(await processesOf(mark)).not.toEqual([]);
    await hidden[Symbol.asyncDispose]();
    expect(await running?.kill("killed")).toMatchObject({ reason: "killed" });
    expect(await processesOf(mark)).toEqual([]);
  },
  60_000,
);
