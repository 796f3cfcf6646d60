import { existsSync, readdirSync, readFileSync, readlinkSync } from "node:fs";
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, vi } from "vitest";
import { createSandbox, run } from "../../../contract/contract-sandbox.ts";
import { childrenOf, guestOf, holderOf, keeperOf, parentOf } from "../../../support/home-traces.ts";
import { BINARY, makeHome } from "../../../support/namespace-home.ts";
import { openCrashHome } from "../../../support/crash-home.ts";
import { startWorker } from "../../../support/home-worker.ts";
import { runOf } from "../../../support/run-of.ts";
import { newId } from "../../../security/support/lab.ts";
import { findIdMap } from "../../../../src/runtime/namespace/id-map.ts";
import { encodeJailSpec } from "../../../../src/runtime/namespace/jail-spec.ts";
import { claimRunFolder, runFolder } from "../../../../src/runtime/namespace/run-paths.ts";
import { NamespaceSandbox } from "../../../../src/runtime/namespace/running-sandbox.ts";
import { Spawner } from "../../../../src/runtime/namespace/spawner.ts";
import { openBaseTemplate } from "../../../../src/runtime/namespace/template/base-template.ts";
import type { Runtime } from "../../../../src/runtime/contract/runtime.ts";

const TIMEOUT = { timeout: 30_000 };
const isRoot = process.getuid?.() === 0;
const CANONICAL = 1_000_000_000;

interface Spare {
  /** The process that starts the runtime's keepers. */
  readonly spawner: number;
  /** The keeper that waits for the next sandbox. */
  readonly keeper: number;
  /** The first process of that sandbox, which waits too. */
  readonly first: number;
}

async function startSpare(runtime: Runtime): Promise<Spare> {
  await using sandbox = await createSandbox(async () => runtime);
  return spareBeside(sandbox.spec.folder);
}

/** What is started ahead after this sandbox, by the process that started its keeper. */
async function spareBeside(folder: string): Promise<Spare> {
  const used = keeperOf(folder);
  const spawner = parentOf(used);
  // Another child may go meanwhile, and is none: it is looked for anew each time.
  const keeper = await vi.waitFor(() => {
    const spare = childrenOf(spawner).find((pid) => pid !== used && childrenOf(pid).some(isReady));
    if (spare === undefined) throw new Error("None waits yet");
    return spare;
  }, TIMEOUT);
  return { spawner, keeper, first: guestOf(keeper) };
}

/** It has made all that it makes ahead, and reads from its keeper. */
function isReady(pid: number): boolean {
  return stateOf(pid) === "S" && readFileSync(`/proc/${pid}/comm`, "utf8").trim() === "belljar-guest";
}

function stateOf(pid: number): string | undefined {
  return /^State:\t(\S)/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1];
}

async function until(pids: readonly number[], isThere: (pid: number) => boolean): Promise<void> {
  await vi.waitUntil(() => pids.every(isThere), TIMEOUT);
}

const isGone = (pid: number): boolean => !existsSync(`/proc/${pid}`);

async function exitCodeOfNext(runtime: Runtime): Promise<number | undefined> {
  await using sandbox = await createSandbox(async () => runtime);
  return (await run(sandbox.guest, "exit 5")).exitCode;
}

it("the next sandbox is made of the keeper and the first process that were started ahead", async () => {
  await using home = await makeHome();
  const runtime = await home.open("home");
  const { keeper, first } = await startSpare(runtime);
  await using sandbox = await createSandbox(async () => runtime);
  expect(keeperOf(sandbox.spec.folder)).toBe(keeper);
  expect(guestOf(keeper)).toBe(first);
  expect((await run(sandbox.guest, "exit 5")).exitCode).toBe(5);
});

it("a sandbox is made though the keeper that was started ahead was killed, and its first process ends with it", async () => {
  await using home = await makeHome();
  const runtime = await home.open("home");
  const { keeper, first } = await startSpare(runtime);
  process.kill(keeper, "SIGKILL");
  await until([keeper, first], isGone);
  expect(await exitCodeOfNext(runtime)).toBe(5);
});

it("a sandbox is made though the first process that was started ahead was killed, and its keeper ends with it", async () => {
  await using home = await makeHome();
  const runtime = await home.open("home");
  const { keeper, first } = await startSpare(runtime);
  process.kill(first, "SIGKILL");
  await until([keeper, first], isGone);
  expect(await exitCodeOfNext(runtime)).toBe(5);
});

it("a sandbox whose specification went to a keeper that cannot use it is made by another one", async () => {
  await using home = await makeHome();
  const runtime = await home.open("home");
  const spare = await startSpare(runtime);
  expect(await exitCodeWithout(spare, { runtime, lost: spare.first })).toBe(5);
});

it.skipIf(isRoot)(
  "a sandbox whose specification went to a keeper that has joined a holder that has ended is made by another one (for ordinary users alone)",
  async () => {
    await using home = await makeHome();
    const runtime = await home.open("tmpfs");
    const spare = await startSpare(runtime);
    expect(await exitCodeWithout(spare, { runtime, lost: holderOf(join(home.path, "run")) })).toBe(5);
  },
);

it("a sandbox whose specification went to a keeper that was killed before it read it is made by another one", async () => {
  await using home = await makeHome();
  const runtime = await home.open("home");
  const spare = await startSpare(runtime);
  expect(await exitCodeWithout(spare, { runtime, lost: spare.keeper })).toBe(5);
});

it("a sandbox whose specification went to a keeper that cannot use it is made, though another one was asked for since", async () => {
  await using home = await makeHome();
  const runtime = await home.open("home");
  const spare = await startSpare(runtime);
  const since = async (): Promise<void> => expect(await exitCodeOfNext(runtime)).toBe(5);
  expect(await exitCodeWithout(spare, { runtime, lost: spare.first, since })).toBe(5);
});

interface Loss {
  readonly runtime: Runtime;
  readonly lost: number;
  /** What happens before the keeper goes on. */
  readonly since?: () => Promise<void>;
}

/** The keeper stands still while it loses what it needs and is given the specification. */
async function exitCodeWithout({ spawner, keeper }: Spare, { runtime, lost, since }: Loss): Promise<number | undefined> {
  process.kill(keeper, "SIGSTOP");
  await until([keeper], (pid) => stateOf(pid) === "T");
  if (lost !== keeper) await killWhole(lost);
  const before = childrenOf(spawner);
  const exitCode = exitCodeOfNext(runtime);
  // The next keeper is started ahead when this one has its specification.
  await vi.waitUntil(() => childrenOf(spawner).some((pid) => !before.includes(pid)), TIMEOUT);
  await since?.();
  process.kill(keeper, lost === keeper ? "SIGKILL" : "SIGCONT");
  return exitCode;
}

async function killWhole(pid: number): Promise<void> {
  process.kill(pid, "SIGKILL");
  await until([pid], (one) => isGone(one) || stateOf(one) === "Z");
}

function descriptors(pid: number): readonly string[] {
  return readdirSync(`/proc/${pid}/fd`).map((fd) => readlinkSync(`/proc/${pid}/fd/${fd}`));
}

it("what was started ahead ends with the process that starts keepers", async () => {
  await using home = await makeHome();
  const runtime = await home.open("home");
  const { spawner, keeper, first } = await startSpare(runtime);
  process.kill(spawner, "SIGKILL");
  await until([spawner, keeper, first], isGone);
  expect(await exitCodeOfNext(runtime)).toBe(5);
});

it("what was started ahead ends with a server that is killed", async () => {
  await using home = openCrashHome("home");
  const worker = startWorker("bound", home);
  const { made: id = "" } = await worker.says(({ made }) => made !== undefined);
  const { spawner, keeper, first } = await spareBeside(join(home.home, "sandboxes", id));
  await worker.kill();
  await until([spawner, keeper, first], isGone);
});

it.runIf(isRoot)("a specification of another pattern gets another keeper (for root alone)", async () => {
  const root = await mkdtemp(join(tmpdir(), "bj-"));
  const template = await openBaseTemplate({ home: root, canonicalUid: CANONICAL });
  const spawner = new Spawner(BINARY);
  const slotsOf = async (name: string): Promise<readonly string[]> => {
    const made = runOf(newId(), join(root, `of-${name}`));
    const slots = join(root, name);
    for (const folder of [slots, made.folder]) await mkdir(folder, { recursive: true });
    claimRunFolder(made);
    const sockets = join(root, made.id);
    const place = {
      ...made,
      folder: runFolder(made),
      sockets,
      layers: join(root, "none"),
      slots,
      idMap: findIdMap(),
      storage: "tmpfs",
    } as const;
    const spec = {
      ...made,
      base: { template: "base" },
      hostname: "pattern",
      limits: { diskBytes: 1 << 24 },
      required: [],
      ephemeral: true,
    };
    await spawner.start(made, encodeJailSpec({ place, spec, template, base: { below: [] }, cgroups: [], groupLimits: [], bootId: "" }));
    await using _sandbox = new NamespaceSandbox({ run: made, sockets, countsUsage: false, isUp: true, clear: async () => undefined });
    await spareBeside(made.folder);
    return descriptors(keeperOf(made.folder)).filter((path) => path.startsWith(`${root}/slots-`));
  };
  expect(await slotsOf("slots-1")).toEqual([expect.stringContaining("/slots-1/")]);
  expect(await slotsOf("slots-2")).toEqual([expect.stringContaining("/slots-2/")]);
  await rm(root, { recursive: true });
});

it.runIf(isRoot)("what was started ahead keeps nothing of the host mounted (for root alone)", async () => {
  await using home = await makeHome();
  const { first } = await startSpare(await home.open("home"));
  const host = mountsOf(process.pid);
  await vi.waitUntil(() => !mountsOf(first).some((mount) => host.some((one) => deviceOf(one) === deviceOf(mount))), TIMEOUT);
  expect(mountsOf(first).length).toBeGreaterThan(1);
});

it.skipIf(isRoot)("what was started ahead has no mounts of its own (for ordinary users alone)", async () => {
  await using home = await makeHome();
  const { first } = await startSpare(await home.open("home"));
  expect(readlinkSync(`/proc/${first}/ns/mnt`)).toBe(readlinkSync("/proc/self/ns/mnt"));
});

function mountsOf(pid: number): readonly string[] {
  return readFileSync(`/proc/${pid}/mountinfo`, "utf8").trim().split("\n");
}

/** Of the file system that is mounted. */
function deviceOf(mount: string): string | undefined {
  return mount.split(" ")[2];
}

it("a keeper descends from no host, so one that ends its server with all descendants leaves the sandboxes", async () => {
  await using home = await makeHome();
  const runtime = await home.open("home");
  await using sandbox = await createSandbox(async () => runtime);
  const above: number[] = [];
  for (let pid = keeperOf(sandbox.spec.folder); pid > 1; pid = parentOf(pid)) above.push(pid);
  expect(above.length).toBeGreaterThanOrEqual(2);
  expect(above).not.toContain(process.pid);
});
