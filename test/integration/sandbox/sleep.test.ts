import { request } from "node:http";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { ShellSession } from "../../../src/interpreter/lasting/shell-session.ts";
import { openPortListener } from "../../../src/network/ports/port-listener.ts";
import { openRuntime } from "../../../src/runtime/registry.ts";
import { createLocalSandboxes } from "../../../src/sandbox/local-sandboxes.ts";
import type { LocalSandboxes } from "../../../src/sandbox/local-sandboxes-options.ts";
import { findPortSandbox } from "../../../src/sandbox/port-sandbox.ts";
import type { Sandbox, SandboxInfo } from "../../../src/sandbox/sandbox.ts";
import { LOCAL } from "../../../src/sandbox/sandbox.ts";
import { byName } from "../../support/by-name.ts";
import { type EventReader, openEvents } from "../../support/event-reader.ts";
import { useFakeHome } from "../../support/fake-home.ts";
import { BINARY } from "../../support/namespace-home.ts";
import { NO_LISTENERS } from "../../support/no-listeners.ts";
import { startInside } from "../../support/port-lab.ts";

const signal = new AbortController().signal;
const soon = (): AbortSignal => AbortSignal.timeout(25_000);
const isRoot = process.getuid?.() === 0;
const IDLE = { pauseIdleMs: 1_000 } as const;
const MIB = 2 ** 20;

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "bj-sleep-"));
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

/** One process of Belljar on the home. */
async function openHome(sandbox: object = {}): Promise<LocalSandboxes> {
  const place = { home: join(root, "home"), runtimeDirectory: join(root, "run"), storage: "home", binary: BINARY } as const;
  const config = { sandbox: { timeoutMs: 600_000, ...sandbox }, listMax: 100, tombstoneRetentionMs: 60_000 };
  return createLocalSandboxes({ home: place.home, runtimes: byName(await openRuntime("namespace", place)), config });
}

interface Place extends AsyncDisposable {
  readonly sandboxes: LocalSandboxes;
  readonly sandbox: Sandbox;
  /** The first state from here on of which this is so, as events tell it. */
  until(isSo: (info: SandboxInfo) => boolean): Promise<SandboxInfo>;
}

async function openPlace(options: object = IDLE): Promise<Place> {
  const sandboxes = await openHome();
  const sandbox = await sandboxes.create(LOCAL, options, signal);
  const events = await openEvents(sandboxes, LOCAL);
  return {
    sandboxes,
    sandbox,
    until: (isSo) => until(sandboxes, events, sandbox.id, isSo),
    async [Symbol.asyncDispose]() {
      await events[Symbol.asyncDispose]();
      await sandbox.kill().catch(() => undefined);
      await sandboxes[Symbol.asyncDispose]();
    },
  };
}

// eslint-disable-next-line max-params -- of whom, who tells, of which, and what
async function until(
  sandboxes: LocalSandboxes,
  events: EventReader,
  id: string,
  isSo: (info: SandboxInfo) => boolean,
): Promise<SandboxInfo> {
  for (let info = await sandboxes.info(LOCAL, id); ; info = await sandboxes.info(LOCAL, id)) {
    if (isSo(info)) return info;
    await events.until((event) => event.type === "changed" && event.sandbox === id);
  }
}

const isPaused = ({ state }: SandboxInfo): boolean => state === "paused";

async function exitOf(sandbox: Sandbox, script: string): Promise<number | undefined> {
  return (await sandbox.guest.run({ argv: ["sh", "-c", script], signal: soon() })).exitCode;
}

describe.skipIf(!isRoot)("a sandbox that is to sleep when it is idle (skipped for an ordinary user, who has no freezer)", () => {
  it("is shown as paused with the reason, and events tell its pause and its waking", async () => {
    await using place = await openPlace();
    expect(await place.until(isPaused)).toMatchObject({ stateReason: "it was idle", pauseIdleMs: 1_000 });
    const events = await openEvents(place.sandboxes, LOCAL);
    expect(await exitOf(place.sandbox, "exit 4")).toBe(4);
    expect(await events.next()).toEqual({ type: "changed", sandbox: place.sandbox.id });
    await events[Symbol.asyncDispose]();
  });

  it("sleeps although the process that made it has ended, and another one wakes it", async () => {
    await using watching = await openHome();
    const maker = await openHome();
    const { id } = await maker.create(LOCAL, IDLE, signal);
    await using events = await openEvents(watching, LOCAL);
    await maker[Symbol.asyncDispose]();
    await until(watching, events, id, isPaused);
    const sandbox = await watching.get(LOCAL, id);
    expect(await exitOf(sandbox, "exit 5")).toBe(5);
    await sandbox.kill();
  });

  it("sleeps in its next run too, and as the configuration says", async () => {
    await using sandboxes = await openHome(IDLE);
    await using events = await openEvents(sandboxes, LOCAL);
    const sandbox = await sandboxes.create(LOCAL, {}, signal);
    const awake = await sandboxes.create(LOCAL, { pauseIdleMs: 0 }, signal);
    expect(await awake.info()).not.toHaveProperty("pauseIdleMs");
    await sandbox.stop();
    await sandbox.start(signal);
    await until(sandboxes, events, sandbox.id, isPaused);
    for (const one of [sandbox, awake]) await (await sandboxes.get(LOCAL, one.id)).kill();
  });

  it("can be frozen as a snapshot while it sleeps", async () => {
    await using place = await openPlace();
    await exitOf(place.sandbox, "echo kept > file");
    await place.until(isPaused);
    const { id } = await place.sandboxes.snapshots.create(LOCAL, place.sandbox.id, {}, soon());
    await place.sandboxes.snapshots.remove(LOCAL, id);
  });

  it("is stopped, and deleted by its deadline, while it sleeps", async () => {
    await using place = await openPlace();
    await place.until(isPaused);
    await place.sandbox.stop();
    expect((await place.sandbox.info()).state).toBe("stopped");
    const again = await place.sandbox.start(signal);
    await place.until(isPaused);
    await again.extend(1, "kill");
    await again.ended;
    expect(await place.sandboxes.info(LOCAL, again.id)).toMatchObject({ state: "ended", endReason: "deadline" });
  });
});

describe.skipIf(!isRoot)("a sandbox that somebody paused (skipped for an ordinary user, who has no freezer)", () => {
  it("gives back what files hold in memory, and says what it took before", async () => {
    await using place = await openPlace({});
    await exitOf(place.sandbox, `head -c ${64 * MIB} /dev/zero > file; sync file; cat file >/dev/null`);
    await place.sandbox.pause();
    expect(await place.sandbox.usage()).toMatchObject({ phase: "paused", pauseReason: "asked" });
    expect(await place.sandbox.info()).not.toHaveProperty("stateReason");
    await using events = await openEvents(place.sandboxes, LOCAL);
    for (;;) {
      const { memoryBytes, memoryAwakeBytes = 0 } = await place.sandbox.usage();
      if (memoryAwakeBytes > 64 * MIB && memoryBytes < memoryAwakeBytes - 48 * MIB) break;
      await events.until(({ type }) => type === "changed");
    }
    await place.sandbox.resume();
    expect(await place.sandbox.usage()).not.toHaveProperty("memoryAwakeBytes");
    expect(await exitOf(place.sandbox, `test $(wc -c < file) = ${64 * MIB}`)).toBe(0);
  });

  it("lets a shell that was open go on with its next command", async () => {
    await using place = await openPlace({});
    const shell = await ShellSession.open(place.sandbox, { maxOutputBytes: 1_000, signal: soon() });
    const run = (command: string) => shell.run({ command, timeoutMs: 20_000, signal: soon(), onOutput: undefined });
    await run("x=9");
    await place.sandbox.pause();
    expect(await run("(exit $x)")).toMatchObject({ exitCode: 9 });
  });

  it("is woken by a request to a port, on a new connection and on one that was kept", async () => {
    await using place = await openPlace({});
    const server = `const http = require("node:http");
http.createServer((_, answer) => answer.end("hello")).listen(8000, "127.0.0.1", () => console.log("ready"));`;
    await startInside(place.sandbox.guest, ["node", "-e", server], soon());
    const link = await place.sandbox.registerPort(8_000, "public");
    const find = findPortSandbox(place.sandboxes);
    const listener = await openPortListener({ find, listeners: NO_LISTENERS, onFailure: () => undefined });
    const ask = (): Promise<number | undefined> =>
      new Promise((resolve, reject) => {
        const headers = { host: `8000-${link.sandbox}.localhost:${listener.origin.port}` };
        const asked = request(listener.origin, { headers, signal: soon() }, (answer) => {
          answer.resume().once("end", () => resolve(answer.statusCode));
        });
        asked.once("error", reject).end();
      });
    for (let i = 0; i < 3; i += 1) {
      await place.sandbox.pause();
      expect(await ask()).toBe(200);
      expect((await place.sandbox.info()).state).toBe("running");
    }
    await listener[Symbol.asyncDispose]();
  });
});

describe("where nothing can be paused when it is idle", () => {
  const at = useFakeHome();

  it("a maker who asks for it is refused, unless it need not be", async () => {
    await using sandboxes = at.openHome();
    const refused = { code: "NOT_SUPPORTED", message: expect.stringContaining("doctor") as string };
    await expect(sandboxes.create(LOCAL, IDLE, signal)).rejects.toMatchObject(refused);
    const made = await sandboxes.create(LOCAL, { ...IDLE, bestEffort: true }, signal);
    expect(await made.info()).not.toHaveProperty("pauseIdleMs");
  });

  it("a time that no keeper takes is refused", async () => {
    await using sandboxes = at.openHome();
    for (const pauseIdleMs of [-1, 0.5, 999, 1_000.5, 1e15])
      await expect(sandboxes.create(LOCAL, { pauseIdleMs }, signal)).rejects.toMatchObject({ code: "ARGUMENTS_INVALID" });
  });

  it("a pause that is asked for and a resume are told by events all the same", async () => {
    await using sandboxes = at.openHome();
    const sandbox = await sandboxes.create(LOCAL, {}, signal);
    await using events = await openEvents(sandboxes, LOCAL);
    await sandbox.pause();
    await events.until(({ type }) => type === "changed");
    expect((await sandbox.info()).state).toBe("paused");
    await sandbox.resume();
    await events.until(({ type }) => type === "changed");
    expect((await sandbox.info()).state).toBe("running");
  });
});
