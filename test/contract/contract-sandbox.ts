import { randomInt } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { afterAll, beforeAll, it } from "vitest";
import { INSIDE } from "../../src/protocol/inside.ts";
import { createGuest } from "../../src/runtime/guest/create-guest.ts";
import type { ExecOptions, Guest, RunOptions, RunResult } from "../../src/runtime/guest/guest.ts";
import type { RunningSandbox } from "../../src/runtime/contract/run.ts";
import type { Runtime } from "../../src/runtime/contract/runtime.ts";
import type { SandboxSpec } from "../../src/runtime/contract/sandbox-spec.ts";

/** What a runtime may lack. A behaviour that needs it is skipped, and its title says why. */
export interface ContractFeatures {
  /** The name that skipped titles show. */
  readonly name: string;
  readonly terminals: boolean;
  /** Commands can outlive their streams. */
  readonly keeps: boolean;
  /** Everything inside can be made to stand still. */
  readonly stands: boolean;
  readonly pause: boolean;
  /** A sandbox can be paused by itself when it is idle. */
  readonly sleep: boolean;
  /** What a sandbox wrote outlives its run. */
  readonly stop: boolean;
  /** What a sandbox wrote can be frozen. */
  readonly states: boolean;
  /** EXIT frames carry CPU time and peak memory. */
  readonly resourceUsage: boolean;
  /** Commands see the sandbox's own files at the sandbox's own paths, and its own processes alone. */
  readonly isolation: boolean;
  /** `root` and `user` are two ids. */
  readonly twoUsers: boolean;
  /** Whoever names nobody is `user`, at home in `/home/user`. */
  readonly ownUser: boolean;
}

export type Feature = Exclude<keyof ContractFeatures, "name">;
export type OpenRuntime = () => Promise<Runtime>;

/** A sandbox of a contract test, in a folder of its own; disposing it leaves nothing. */
export interface ContractSandbox extends AsyncDisposable {
  readonly runtime: Runtime;
  readonly running: RunningSandbox;
  readonly guest: Guest;
  readonly spec: SandboxSpec;
}

export async function createSandbox(open: OpenRuntime, options: Partial<SandboxSpec> = {}): Promise<ContractSandbox> {
  const runtime = await open();
  const folder = await mkdtemp(join(tmpdir(), "bj-"));
  try {
    const { base = { template: "base" } } = options;
    const own = await runtime.layers.describe(base);
    const inside = options.workspace ? { ...own, workspace: INSIDE.workspace, cwd: INSIDE.workspace } : own;
    const spec = { ...DEFAULTS, id: createId(), generation: 1, folder, base, inside, ...options };
    const running = await runtime.create(spec, soon());
    const guest = createGuest((signal) => running.connect(signal), { ended: running.ended });
    const dispose = async (): Promise<void> => {
      await running[Symbol.asyncDispose]();
      await runtime.clear(spec);
      await runtime.layers.remove(spec); // of one that ended by itself; with sub-ids, nobody else may remove it
      await rm(folder, { recursive: true, force: true });
    };
    return { runtime, running, guest, spec, [Symbol.asyncDispose]: dispose };
  } catch (error) {
    await rm(folder, { recursive: true, force: true });
    throw error;
  }
}

const DEFAULTS = {
  hostname: "contract",
  limits: {},
  required: [],
  ephemeral: true,
} as const satisfies Omit<SandboxSpec, "id" | "folder" | "generation" | "base" | "inside">;

function createId(): string {
  return Array.from({ length: 20 }, () => "abcdefghijklmnopqrstuvwxyz0123456789"[randomInt(36)]).join("");
}

/** Ends a test that hangs with an error that names the place. */
export function soon(): AbortSignal {
  return AbortSignal.timeout(25_000);
}

/** One sandbox for a describe block, made before its tests and gone after them. */
export function shareSandbox(open: OpenRuntime): { readonly get: () => ContractSandbox; readonly guest: () => Guest } {
  let shared: ContractSandbox | undefined;
  beforeAll(async () => {
    shared = await createSandbox(open);
  }, 30_000);
  afterAll(async () => {
    await shared?.[Symbol.asyncDispose]();
  }, 30_000);
  const get = (): ContractSandbox => {
    if (!shared) throw new Error("the shared sandbox could not be created");
    return shared;
  };
  return { get, guest: () => get().guest };
}

/** `it`, or a skipped `it` whose title tells the reason. */
export function itNeeds(features: ContractFeatures, feature: Feature): (title: string, test: () => Promise<void>) => void {
  const lacks = !features[feature];
  const reason = lacks ? ` (skipped: the ${features.name} runtime has no "${feature}")` : "";
  return (title, test) => it.skipIf(lacks)(`${title}${reason}`, test);
}

export function run(guest: Guest, script: string, options: Partial<RunOptions> = {}): Promise<RunResult> {
  return guest.run({ argv: ["sh", "-c", script], signal: soon(), ...options });
}

/** Waits inside until a process is gone, or at least dead and not yet reaped; a timeout is the result when it stays. */
export function waitUntilGone(guest: Guest, pid: number): Promise<RunResult> {
  return run(guest, `while [ -e /proc/${pid} ] && ! grep -q '^State:.Z' /proc/${pid}/status; do sleep 0.01; done`, { timeoutMs: 10_000 });
}

export function execOptions(script: string, options: Partial<ExecOptions> = {}): ExecOptions {
  return { argv: ["sh", "-c", script], signal: soon(), ...options };
}

/** Reads to the end; the writing half of a duplex stays open. */
export async function collect(stream: Readable): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) chunks.push(chunk);
  return Buffer.concat(chunks);
}

/** The first bytes of a stream, which stays open and can be read on. */
export async function readUntil(stream: NodeJS.ReadableStream, wanted: string | RegExp): Promise<string> {
  let text = "";
  return new Promise((resolve, reject) => {
    const stop = (): void => void stream.off("data", take).off("error", fail).off("end", ended);
    const take = (chunk: Buffer): void => {
      text += chunk.toString();
      if (typeof wanted === "string" ? !text.includes(wanted) : !wanted.test(text)) return;
      stop();
      stream.pause();
      resolve(text);
    };
    const fail = (error: Error): void => {
      stop();
      reject(error);
    };
    const ended = (): void => fail(new Error(`the stream ended after ${JSON.stringify(text)}`));
    stream.on("data", take).on("error", fail).on("end", ended).resume();
  });
}
