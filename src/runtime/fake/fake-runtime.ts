import { existsSync } from "node:fs";
import type { Duplex } from "node:stream";
import { BelljarError } from "../../errors.ts";
import type { Run, RunningSandbox } from "../contract/run.ts";
import type { Isolation, Runtime } from "../contract/runtime.ts";
import type { Base, Limits, SandboxSpec } from "../contract/sandbox-spec.ts";
import { assertMounts } from "../guest/mounts.ts";
import { DEFAULT_BASE } from "../contract/sandbox-spec.ts";
import { serveOperation } from "./fake-guest.ts";
import { fakeSharedFolders } from "./fake-shared-folders.ts";
import { FakeSandbox, measureRoot, readTombstone, removeRoot, rootOf } from "./fake-sandbox.ts";

/** The sandboxes that live. Two runtimes that share one stand for two processes on one home. */
export type FakeHost = Map<string, FakeSandbox>;

export interface FakeRuntimeOptions {
  readonly host?: FakeHost;
  /** Limits that it says to enforce. It enforces none. */
  readonly limits?: readonly (keyof Limits)[];
}

const TEMPLATES = [{ name: DEFAULT_BASE.template, description: "This host as it is" }];

/** A runtime for tests: the whole contract in this process, real commands, and no isolation at all. */
export function fakeRuntime({ host = new Map(), limits = [] }: FakeRuntimeOptions = {}): Runtime {
  return {
    name: "fake",
    layers: {
      templates: async () => TEMPLATES,
      describe: async (base) => {
        assertTemplate(base);
        return { env: {}, home: "/home/user", workspace: "/home/user", cwd: "/home/user" };
      },
      remove: async ({ folder }) => removeRoot(folder),
      has: async ({ folder }) => existsSync(rootOf(folder)),
      measure: async ({ folder }) => measureRoot(folder),
      flush: async () => {},
    },
    shared: fakeSharedFolders,
    probe: async () => isolation(limits),
    create: async (spec, signal) => {
      assertPossible(spec, limits);
      if (signal.aborted) throw new BelljarError("CANCELLED", "The create was cancelled", { cause: signal.reason });
      const sandbox = new FakeSandbox(spec, serveOperation);
      host.set(spec.id, sandbox);
      void sandbox.ended.then(() => host.get(spec.id) === sandbox && host.delete(spec.id));
      return runningSandbox(sandbox);
    },
    open: async (run) => {
      const sandbox = findRun(host, run);
      return sandbox && runningSandbox(sandbox);
    },
    clear: async (run) => (findRun(host, run) ? undefined : readTombstone(run)),
  };
}

function findRun(host: FakeHost, { id, generation }: Run): FakeSandbox | undefined {
  const sandbox = host.get(id);
  return sandbox?.generation === generation ? sandbox : undefined;
}

function assertTemplate(base: Base): void {
  if (base.layers) throw new BelljarError("NOT_SUPPORTED", "The fake runtime has templates alone");
  if (base.template === DEFAULT_BASE.template) return;
  throw new BelljarError("TEMPLATE_NOT_FOUND", `No template "${base.template}"; the fake runtime has "${DEFAULT_BASE.template}"`);
}

function assertPossible(spec: SandboxSpec, limits: readonly (keyof Limits)[]): void {
  assertTemplate(spec.base);
  assertMounts(spec);
  const missing = spec.required.filter((limit) => !limits.includes(limit));
  if (missing.length > 0) throw new BelljarError("LIMIT_UNENFORCEABLE", `The fake runtime cannot enforce ${missing.join(", ")}`);
}

function isolation(limits: readonly (keyof Limits)[]): Isolation {
  const detail = "The fake runtime isolates nothing; it is for tests";
  return {
    runtime: "fake",
    available: true,
    checks: [{ id: "isolation", state: "absent", detail }],
    limits,
    users: "one",
    terminals: false,
    pause: true,
    sleep: false,
    stop: true,
    states: "none",
  };
}

/** One holder's view of a sandbox; it owns the streams that it opened. */
function runningSandbox(sandbox: FakeSandbox): RunningSandbox {
  const streams = new Set<Duplex>();
  return {
    id: sandbox.id,
    generation: sandbox.generation,
    env: {},
    ended: sandbox.ended,
    connect: async (signal) => {
      if (signal.aborted) throw new BelljarError("CANCELLED", "The call was cancelled", { cause: signal.reason });
      const stream = await sandbox.connect();
      streams.add(stream);
      stream.once("close", () => streams.delete(stream));
      return stream;
    },
    usage: async () => sandbox.usage(),
    extend: async (deadline, action) => sandbox.extend(deadline, action),
    pause: async () => sandbox.pause(),
    resume: async () => sandbox.resume(),
    isPaused: () => sandbox.usage().phase === "paused",
    sleepAfter: async (idleMs) => {
      if (idleMs !== undefined) throw new BelljarError("NOT_SUPPORTED", "The fake runtime pauses no sandbox by itself");
    },
    stop: () => sandbox.stop("stopped"),
    kill: (reason) => sandbox.finish(reason),
    release: async () => {
      for (const stream of streams) stream.destroy();
    },
    [Symbol.asyncDispose]: async () => void (await sandbox.finish("killed")),
  };
}
