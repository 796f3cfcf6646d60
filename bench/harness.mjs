/** What the measurements share: the floor, samples, and a home of their own. */
import { spawn, spawnSync } from "node:child_process";
import { once, setMaxListeners } from "node:events";
import { mkdirSync, mkdtempSync, readFileSync, readdirSync, readlinkSync, rmSync, statfsSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { setTimeout as pause } from "node:timers/promises";

export const ROOT = resolve(import.meta.dirname, "..");
export const BELLJAR = join(ROOT, "bin/belljar.js");
export const NEVER = new AbortController().signal;
setMaxListeners(0, NEVER);
export const MIB = 1024 * 1024;
/** So much less is measured to see that every measurement still works; such figures say nothing. */
const QUICK_PART = process.env.BELLJAR_BENCH_QUICK === "1" ? 100 : 1;
/** So long the removal of a killed sandbox's files is given before the next reference is taken. */
export const SETTLE_MS = 40;
const AT_ONCE = 8;
/** A sandbox that is to wait, on a busy host. */
const READY_MS = 30_000;
const BTRFS_MAGIC = 0x91_23_68_3e;

/** How often, or how much: all of it, or with `--quick` a hundredth, and at least one. */
export const scaled = (count) => Math.ceil(count / QUICK_PART);

export function summarise(samples) {
  const sorted = samples.toSorted((one, other) => one - other);
  const at = (part) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))];
  return { p50: at(0.5), p95: at(0.95), p99: at(0.99), n: sorted.length };
}

export async function time(work) {
  const started = performance.now();
  await work();
  return performance.now() - started;
}

/**
 * Blocks of the reference and of the measured in turn, so that a busy moment of the machine falls on both.
 * A work that gives a number back has timed itself.
 */
export async function compare({ reference, measured, blocks = 6, each = 10, gapMs = 0, settleMs = SETTLE_MS }) {
  const samples = { reference: [], measured: [] };
  await reference();
  await measured();
  for (let block = 0; block < scaled(blocks); block += 1) {
    await pause(settleMs);
    await collect(samples.reference, reference, { each, gapMs });
    await collect(samples.measured, measured, { each, gapMs });
  }
  return { reference: summarise(samples.reference), measured: summarise(samples.measured) };
}

async function collect(into, work, { each, gapMs }) {
  for (let i = 0; i < scaled(each); i += 1) {
    if (gapMs > 0) await pause(gapMs);
    const started = performance.now();
    const own = await work();
    into.push(typeof own === "number" ? own : performance.now() - started);
  }
}

/** Node's own spawn, from the call to `close`. */
export async function spawnPlain(command, args = [], { stdout = "ignore", env = {} } = {}) {
  const child = spawn(command, args, { stdio: ["ignore", stdout, "ignore"], env, cwd: "/" });
  child.stdout?.resume();
  const [code] = await once(child, "close");
  if (code !== 0) throw new Error(`${command} ended with ${code}`);
}

export const FLOOR = { what: "spawn /bin/true (F)", run: () => spawnPlain("/bin/true") };
export const PYTHON = { what: "python3 -c", run: () => spawnPlain("/usr/bin/python3", ["-c", "print(6 * 7)"], { stdout: "pipe" }) };

/** The variable with the folder that the homes of one run have their base in. */
export const BASES = "BELLJAR_SHARED_BASES";

/** A home in a temporary folder, with the defaults of a new one. Closing it leaves nothing. */
export async function openHome({ storage = "auto" } = {}) {
  const folder = mkdtempSync(join(tmpdir(), "bjb-"));
  const home = join(folder, "home");
  mkdirSync(join(home, "templates"), { recursive: true, mode: 0o700 });
  symlinkSync(process.env[BASES], join(home, "templates/base"));
  const env = {
    PATH: process.env.PATH,
    HOME: folder,
    BELLJAR_HOME: home,
    BELLJAR_STORAGE: storage,
    BELLJAR_RUNTIME_DIRECTORY: join(folder, "run"),
  };
  const { createLocalSandboxes, loadConfig, openRuntimes, LOCAL } = await import("../dist/lib/index.js");
  const config = loadConfig({ env });
  const runtimes = await openRuntimes("namespace", runtimeOptions(config, home));
  const open = () => createLocalSandboxes({ home, runtimes, config, report: (problem) => console.error(problem) });
  const sandboxes = open();
  const listOf = (from) => allOf((cursor) => from.list(LOCAL, { cursor }));
  return {
    config,
    env,
    folder,
    create: (options = {}) => sandboxes.create(LOCAL, options, NEVER),
    snapshot: (sandbox) => sandboxes.snapshots.create(LOCAL, sandbox.id, {}, NEVER),
    list: () => listOf(sandboxes),
    /** A list by somebody who knows nothing of the home yet, as a new process. */
    async listAnew() {
      const fresh = open();
      const all = await listOf(fresh);
      await fresh[Symbol.asyncDispose]();
      return all;
    },
    removeSnapshot: ({ id }) => sandboxes.snapshots.remove(LOCAL, id),
    fork: (from, options = {}) => sandboxes.snapshots.fork(LOCAL, from, options, NEVER),
    async close() {
      const { sandboxes: left } = await sandboxes.list(LOCAL, { filter: { state: ["running"] } });
      for (const { id } of left) await (await sandboxes.get(LOCAL, id)).kill();
      await sandboxes[Symbol.asyncDispose]();
      await removeHome(folder);
    },
  };
}

/** All pages of a list. */
async function allOf(page) {
  const all = [];
  for (let cursor; ;) {
    const { sandboxes, nextCursor } = await page(cursor);
    all.push(...sandboxes);
    if (nextCursor === undefined) return all;
    cursor = nextCursor;
  }
}

/** What claims the ports on which a process of this home listens. */
export async function openOwnListeners({ config }) {
  const { openListeners } = await import("../dist/lib/cli/compose/open-listeners.js");
  return openListeners(config);
}

/** The same home with a way out, for names that it knows by itself. Close it before the home. */
export async function openEgressHome({ config }, { addresses, certificates }) {
  const [{ createLocalSandboxes, openRuntimes, LOCAL }, { createEgress }, { createSecretStore }] = await Promise.all(
    ["index.js", "network/egress/create-egress.js", "secrets/create-secret-store.js"].map((file) => import(`../dist/lib/${file}`)),
  );
  const { home } = config;
  const { toLimits } = await import("../dist/lib/cli/compose/open-egress.js");
  const egress = createEgress({
    record: () => {},
    listeners: await openOwnListeners({ config }),
    limits: toLimits(config.network),
    resolver: { resolve: async (host) => addresses[host] ?? [] },
    upstreamCa: certificates,
  });
  const secrets = createSecretStore({ home });
  const runtimes = await openRuntimes("namespace", runtimeOptions(config, home));
  const sandboxes = createLocalSandboxes({ home, runtimes, config, egress, secrets, report: (problem) => console.error(problem) });
  return {
    create: (options = {}) => sandboxes.create(LOCAL, options, NEVER),
    setSecret: (name, value) => secrets.set(LOCAL.id, name, value),
    async close() {
      await sandboxes[Symbol.asyncDispose]();
      await egress[Symbol.asyncDispose]();
    },
  };
}

/** The same home with templates. Close it before the home. */
export async function openTemplates({ config }) {
  const [{ createLocalSandboxes, openRuntimes, LOCAL }, { StoredTemplates }, { MadeTemplates }, { Runtimes }] = await Promise.all(
    ["index.js", "template/stored-templates.js", "template/made-templates.js", "sandbox/runtimes.js"].map(
      (file) => import(`../dist/lib/${file}`),
    ),
  );
  const { home } = config;
  const report = (problem) => console.error(problem);
  const stored = new StoredTemplates(home, report);
  const runtimes = await openRuntimes("namespace", runtimeOptions(config, home));
  const sandboxes = createLocalSandboxes({ home, runtimes, config, templates: stored, report });
  const { maxBytes } = config.template;
  return {
    LOCAL,
    templates: new MadeTemplates({ home, stored, sandboxes, runtimes: new Runtimes(runtimes, config), maxBytes, report }),
    create: (options) => sandboxes.create(LOCAL, options, NEVER),
    close: () => sandboxes[Symbol.asyncDispose](),
  };
}

export function runtimeOptions({ runtimeDirectory, storage }, home) {
  return {
    home,
    runtimeDirectory,
    storage,
    kernels: join(ROOT, "dist/kernels"),
    binary: join(ROOT, "native/build/belljar-native"),
  };
}

/** The keepers take away what they made; a pool is ours to unmount. */
export async function removeHome(folder) {
  const pool = join(folder, "home/pool");
  await keepersGone(folder);
  if (isPool(pool)) spawnSync("umount", ["--lazy", pool], { env: { PATH: process.env.PATH }, stdio: "inherit" });
  rmSync(folder, { recursive: true, force: true });
}

function isPool(path) {
  try {
    return statfsSync(path).type === BTRFS_MAGIC;
  } catch {
    return false;
  }
}

/** A keeper removes the sockets of its sandbox last. */
async function keepersGone(folder) {
  const sockets = () => names(join(folder, "run")).filter((name) => !name.startsWith("holder"));
  for (let i = 0; i < 100 && sockets().length > 0; i += 1) await pause(SETTLE_MS);
}

function names(folder) {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

/** A limits object as a caller would name it: a one-shot program's. */
export function programLimits({ program }) {
  const { memoryBytes, cpus, pids, diskBytes, openFiles } = program;
  return { limits: { memoryBytes, cpus, pids, diskBytes, openFiles }, bestEffort: true, ephemeral: true };
}

/** The keepers of a home's sandboxes: they hold the sandboxes' folders open. Root alone may ask. */
export function keepers({ folder }) {
  const isOurs = (pid) => descriptors(pid).some((path) => path.startsWith(`${folder}/home/sandboxes/`));
  return names("/proc")
    .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid && isOurs(name))
    .map(Number);
}

function descriptors(pid) {
  return names(`/proc/${pid}/fd`).flatMap((name) => {
    try {
      return [readlinkSync(`/proc/${pid}/fd/${name}`)];
    } catch {
      return []; // closed meanwhile
    }
  });
}

export function childrenOf(parents) {
  const wanted = new Set(parents.map(String));
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name) && wanted.has(parentOf(name)))
    .map(Number);
}

function parentOf(pid) {
  try {
    return readFileSync(`/proc/${pid}/stat`, "utf8")
      .replace(/^.*\) /s, "")
      .split(" ")[1];
  } catch {
    return undefined;
  }
}

/** Bytes of memory that a process has for itself, shared pages by their share. Root alone may ask. */
export function pssOf(pid) {
  const kib = /^Pss:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, "utf8"))?.[1];
  return Number(kib) * 1024;
}

/** MiB of each live sandbox of the home: its keeper and its guest. Root alone may ask. */
export function pssOfSandboxes(home) {
  return keepers(home).map((keeper) => [keeper, ...childrenOf([keeper])].reduce((sum, pid) => sum + pssOf(pid), 0) / MIB);
}

/** Bytes that the host could still give to programs. */
export function availableMemory() {
  return Number(/^MemAvailable:\s+(\d+)/m.exec(readFileSync("/proc/meminfo", "utf8"))[1]) * 1024;
}

/** Some at a time. */
export async function inParallel(items, work) {
  const left = [...items];
  const worker = async () => {
    while (left.length > 0) await work(left.pop());
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
}

export const isRoot = process.getuid?.() === 0;

/** The sandboxes of a home that wait for an owner. */
export function waiting({ home }) {
  const folder = join(home, "waiting");
  try {
    return readdirSync(folder).flatMap((key) => readdirSync(join(folder, key)).filter((name) => !name.startsWith(".")));
  } catch {
    return []; // none was ready yet
  }
}

export async function until(isSo, withinMs = READY_MS) {
  for (const end = performance.now() + withinMs; !(await isSo()); await pause(5))
    if (performance.now() > end) throw new Error("None gets ready");
}
