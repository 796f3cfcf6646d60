import type { Duplex } from "node:stream";
import { BelljarError } from "../../errors.ts";
import type { Isolation, Limits, RunningSandbox, Runtime, SandboxSpec } from "../runtime.ts";
import { serveOperation } from "./fake-guest.ts";
import { FakeSandbox, readTombstone } from "./fake-sandbox.ts";

/** The sandboxes that live. Two runtimes that share one stand for two processes on one home. */
export type FakeHost = Map<string, FakeSandbox>;

export interface FakeRuntimeOptions {
  readonly host?: FakeHost;
  /** Limits that it says to enforce. It enforces none. */
  readonly limits?: readonly (keyof Limits)[];
}

/** A runtime for tests: the whole contract in this process, real commands, and no isolation at all. */
export function fakeRuntime({ host = new Map(), limits = [] }: FakeRuntimeOptions = {}): Runtime {
  return {
    name: "fake",
    probe: async () => isolation(limits),
    create: async (spec, signal) => {
      assertPossible(spec, limits);
      if (signal.aborted) throw new BelljarError("CANCELLED", "The create was cancelled", { cause: signal.reason });
      const sandbox = new FakeSandbox(spec, serveOperation);
      host.set(spec.id, sandbox);
      void sandbox.ended.then(() => host.delete(spec.id));
      return runningSandbox(sandbox);
    },
    open: async (id) => {
      const sandbox = host.get(id);
      return sandbox && runningSandbox(sandbox);
    },
    clear: async (id, folder) => (host.has(id) ? undefined : readTombstone(folder)),
  };
}

function assertPossible(spec: SandboxSpec, limits: readonly (keyof Limits)[]): void {
  if (spec.template !== "base") throw new BelljarError("TEMPLATE_NOT_FOUND", `No template "${spec.template}"; the fake runtime has "base"`);
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
  };
}

/** One holder's view of a sandbox; it owns the streams that it opened. */
function runningSandbox(sandbox: FakeSandbox): RunningSandbox {
  const streams = new Set<Duplex>();
  return {
    id: sandbox.id,
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
    extend: async (deadline) => sandbox.extend(deadline),
    pause: async () => sandbox.pause(),
    resume: async () => sandbox.resume(),
    kill: (reason) => sandbox.finish(reason),
    release: async () => {
      for (const stream of streams) stream.destroy();
    },
    [Symbol.asyncDispose]: async () => void (await sandbox.finish("killed")),
  };
}
