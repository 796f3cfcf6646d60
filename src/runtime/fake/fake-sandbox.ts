import { existsSync, readdirSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Duplex } from "node:stream";
import { BelljarError } from "../../errors.ts";
import type { Head } from "../../protocol/head.ts";
import type { LayersSize } from "../contract/layer-store.ts";
import type { DeadlineAction, EndReason, PauseReason, Run, SandboxEnd, Usage } from "../contract/run.ts";
import type { SandboxSpec } from "../contract/sandbox-spec.ts";
import { sandboxEnded } from "../guest/guest-errors.ts";
import { createDuplexPair } from "./duplex-pair.ts";
import { Peer } from "./peer.ts";
import { Listens } from "./listen-operation.ts";
import { findProcesses, signalIfPresent } from "./process-table.ts";
import { SandboxPaths } from "./sandbox-paths.ts";
import { Services } from "./socket-operation.ts";

const TIMER_MAX_MS = 2_147_483_647;
const PAUSED_KEPT_MS = 7 * 24 * 3_600_000;

export type ServeOperation = (sandbox: FakeSandbox, peer: Peer, head: Head) => Promise<void>;

/** A sandbox of the fake runtime: a folder, and processes that carry its mark. It owns both, and its timers and streams. */
export class FakeSandbox {
  readonly id: string;
  readonly generation: number;
  readonly paths: SandboxPaths;
  readonly services: Services;
  readonly listens = new Listens();
  readonly xattrs = new XattrStore();
  readonly startedAt = performance.now();
  readonly ended: Promise<SandboxEnd>;
  readonly #run: Run;
  readonly #serve: ServeOperation;
  readonly #peers = new Set<Peer>();
  readonly #open = new Set<Promise<void>>();
  #phase: Usage["phase"] = "running";
  #pauseReason: PauseReason = "asked";
  #deadline: Date | undefined;
  #action: DeadlineAction;
  #isDeleted = false;
  #timer: NodeJS.Timeout | undefined;
  /** A deadline found it paused or paused it, and nobody has resumed it since. */
  #isOverdue = false;
  #finishing: Promise<SandboxEnd> | undefined;
  #settleEnded: (end: SandboxEnd) => void = () => {};

  /** `serve` serves one operation of a peer. */
  constructor(spec: SandboxSpec, serve: ServeOperation) {
    this.#serve = serve;
    this.id = spec.id;
    this.generation = spec.generation;
    this.#run = spec;
    this.#action = spec.deadlineAction ?? "kill";
    this.paths = new SandboxPaths(spec);
    if (spec.generation === 1) this.paths.make(spec.workspace);
    this.paths.mount(spec.mounts);
    this.services = new Services(this.paths);
    this.ended = new Promise((resolve) => {
      this.#settleEnded = resolve;
    });
    this.extend(spec.deadline);
  }

  async connect(): Promise<Duplex> {
    if (this.#phase === "ending") throw sandboxEnded(await this.ended);
    if (this.#phase === "paused") throw new BelljarError("SANDBOX_PAUSED", "The sandbox is paused; resume it first");
    const [host, guest] = createDuplexPair();
    const peer = new Peer(guest, (head) => void this.#serve(this, peer, head));
    this.#peers.add(peer);
    peer.onGone(() => this.#peers.delete(peer));
    return host;
  }

  usage(): Usage {
    const rows = findProcesses(this.id);
    const memoryBytes = rows.reduce((sum, row) => sum + row.memoryBytes, 0);
    const cpuUs = rows.reduce((sum, row) => sum + row.cpuUs, 0);
    const deadline = this.#deadline && { deadline: this.#deadline };
    return {
      memoryBytes,
      memoryPeakBytes: memoryBytes,
      cpuUs,
      processes: rows.length,
      oomKills: 0,
      phase: this.#phase,
      ...(this.#phase === "paused" && { pauseReason: this.#pauseReason }),
      deadlineAction: this.#action,
      ...deadline,
    };
  }

  extend(deadline: Date | undefined, action = this.#action): void {
    this.#action = action;
    clearTimeout(this.#timer);
    this.#deadline = deadline;
    if (!deadline) return;
    const leftMs = deadline.getTime() - Date.now();
    if (leftMs <= 0) return this.#meetDeadline();
    const next = (): void => (leftMs > TIMER_MAX_MS ? this.extend(deadline) : this.#meetDeadline());
    this.#timer = setTimeout(next, Math.min(Math.max(leftMs, 0), TIMER_MAX_MS)).unref();
  }

  #meetDeadline(): void {
    if (this.#action === "kill") void this.finish("deadline");
    else if (this.#action === "stop" || this.#isOverdue) void this.stop("deadline");
    else {
      if (this.#phase === "running") this.pause("deadline");
      this.#pauseReason = "deadline";
      this.#isOverdue = true;
      this.extend(new Date(Date.now() + PAUSED_KEPT_MS));
    }
  }

  pause(reason: PauseReason = "asked"): void {
    this.#phase = "paused";
    this.#pauseReason = reason;
    this.#signalAll("SIGSTOP");
    this.#announce();
  }

  resume(): void {
    this.#phase = "running";
    this.#isOverdue = false;
    this.#signalAll("SIGCONT");
    this.#announce();
  }

  #announce(): void {
    const now = new Date();
    utimesSync(this.#run.folder, now, now);
  }

  /** `pipe` closes when the last process of an exec that holds its other end is gone. */
  holdUntilClosed(pipe: Duplex): void {
    const closed = new Promise<void>((resolve) => {
      pipe
        .once("close", resolve)
        .on("error", () => {})
        .resume();
    });
    this.#open.add(closed);
    void closed.then(() => this.#open.delete(closed));
  }

  #signalAll(signal: NodeJS.Signals): boolean {
    const rows = findProcesses(this.id);
    for (const row of rows) signalIfPresent(row.pid, signal);
    return rows.length > 0;
  }

  /** SIGTERM to all, SIGKILL to what is left after the grace; resolves when all are gone. */
  async terminateProcesses(graceMs: number): Promise<void> {
    this.#signalAll("SIGTERM");
    const timer = setTimeout(() => this.#signalAll("SIGKILL"), graceMs);
    await Promise.all(this.#open);
    clearTimeout(timer);
  }

  /** Keeps what it wrote, unless somebody kills it meanwhile. */
  stop(reason: EndReason): Promise<SandboxEnd> {
    this.#finishing ??= this.#finish(reason, true);
    return this.#finishing;
  }

  /** The first reason stands. */
  finish(reason: EndReason): Promise<SandboxEnd> {
    this.#isDeleted = true;
    this.#finishing ??= this.#finish(reason);
    return this.#finishing;
  }

  async #finish(reason: EndReason, stops = false): Promise<SandboxEnd> {
    this.#phase = "ending";
    clearTimeout(this.#timer);
    this.services.close();
    for (const peer of this.#peers) peer.close();
    this.#signalAll("SIGKILL");
    await Promise.all(this.#open);
    const kept = stops && !this.#isDeleted;
    if (!kept) rmSync(this.paths.root, { recursive: true, force: true });
    const end: SandboxEnd = { reason, at: new Date(), ...(kept && { kept }) };
    writeFileSync(tombstone(this.#run), JSON.stringify({ ...end, generation: this.generation }));
    this.#settleEnded(end);
    return end;
  }
}

function tombstone({ folder }: Run): string {
  return join(folder, "fake-end.json");
}

export function removeRoot(folder: string): void {
  rmSync(rootOf(folder), { recursive: true, force: true });
}

export function rootOf(folder: string): string {
  return join(folder, "root");
}

/** The sizes of all files. */
export function measureRoot(folder: string): LayersSize | undefined {
  const root = rootOf(folder);
  if (!existsSync(root)) return undefined;
  const files = readdirSync(root, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  return { bytes: files.reduce((sum, { parentPath, name }) => sum + statSync(join(parentPath, name)).size, 0), isInMemory: false };
}

/** How a run ended that this host does not know to live. */
export function readTombstone(run: Run): SandboxEnd {
  try {
    const text = readFileSync(tombstone(run), "utf8");
    const { reason, at, kept, generation } = JSON.parse(text) as { reason: EndReason; at: string; kept?: true; generation: number };
    if (generation !== run.generation) return lost(run);
    return { reason, at: new Date(at), ...(kept && { kept }) };
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "ENOENT")) throw error;
    return lost(run);
  }
}

/** A later run began with files that a stop promised to keep. */
function lost({ generation }: Run): SandboxEnd {
  return { reason: "keeper_lost", at: new Date(), ...(generation > 1 && { kept: true }) };
}

/** Node has no calls for extended attributes: a fake sandbox keeps them in memory, by file. */
class XattrStore {
  readonly #files = new Map<string, Map<string, Buffer>>();

  of(host: Buffer): Map<string, Buffer> {
    const { ino, birthtimeNs } = statSync(host, { bigint: true });
    const key = `${ino}:${birthtimeNs}`;
    const found = this.#files.get(key) ?? new Map<string, Buffer>();
    this.#files.set(key, found);
    return found;
  }
}
