import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Duplex } from "node:stream";
import { BelljarError } from "../../errors.ts";
import type { Head } from "../../protocol/head.ts";
import type { EndReason, SandboxEnd, SandboxSpec, Usage } from "../runtime.ts";
import { sandboxEnded } from "../guest/guest-errors.ts";
import { createDuplexPair } from "./duplex-pair.ts";
import { Peer } from "./peer.ts";
import { Listens } from "./listen-operation.ts";
import { findProcesses, signalIfPresent } from "./process-table.ts";
import { SandboxPaths } from "./sandbox-paths.ts";
import { Services } from "./socket-operation.ts";
import { XattrStore } from "./xattr-store.ts";

const TIMER_MAX_MS = 2_147_483_647;
const TOMBSTONE = "fake-end.json";

export type ServeOperation = (sandbox: FakeSandbox, peer: Peer, head: Head) => Promise<void>;

/** A sandbox of the fake runtime: a folder, and processes that carry its mark. It owns both, and its timers and streams. */
export class FakeSandbox {
  readonly id: string;
  readonly paths: SandboxPaths;
  readonly services: Services;
  readonly listens = new Listens();
  readonly xattrs = new XattrStore();
  readonly startedAt = performance.now();
  readonly ended: Promise<SandboxEnd>;
  readonly #folder: string;
  readonly #serve: ServeOperation;
  readonly #peers = new Set<Peer>();
  readonly #open = new Set<Promise<void>>();
  #phase: Usage["phase"] = "running";
  #deadline: Date | undefined;
  #timer: NodeJS.Timeout | undefined;
  #finishing: Promise<SandboxEnd> | undefined;
  #settleEnded: (end: SandboxEnd) => void = () => {};

  /** `serve` serves one operation of a peer. */
  constructor(spec: SandboxSpec, serve: ServeOperation) {
    this.#serve = serve;
    this.id = spec.id;
    this.#folder = spec.folder;
    this.paths = new SandboxPaths(spec.folder);
    this.paths.make(spec.workspace);
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
    return { memoryBytes, memoryPeakBytes: memoryBytes, cpuUs, processes: rows.length, oomKills: 0, phase: this.#phase, ...deadline };
  }

  extend(deadline: Date | undefined): void {
    clearTimeout(this.#timer);
    this.#deadline = deadline;
    if (!deadline) return;
    const leftMs = deadline.getTime() - Date.now();
    const next = (): void => (leftMs > TIMER_MAX_MS ? this.extend(deadline) : void this.finish("deadline"));
    this.#timer = setTimeout(next, Math.min(Math.max(leftMs, 0), TIMER_MAX_MS)).unref();
  }

  pause(): void {
    this.#phase = "paused";
    this.#signalAll("SIGSTOP");
  }

  resume(): void {
    this.#phase = "running";
    this.#signalAll("SIGCONT");
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

  /** The first reason stands. */
  finish(reason: EndReason): Promise<SandboxEnd> {
    this.#finishing ??= this.#finish(reason);
    return this.#finishing;
  }

  async #finish(reason: EndReason): Promise<SandboxEnd> {
    this.#phase = "ending";
    clearTimeout(this.#timer);
    this.services.close();
    for (const peer of this.#peers) peer.close();
    this.#signalAll("SIGKILL");
    await Promise.all(this.#open);
    rmSync(this.paths.root, { recursive: true, force: true });
    const end = { reason, at: new Date() };
    writeFileSync(join(this.#folder, TOMBSTONE), JSON.stringify(end));
    this.#settleEnded(end);
    return end;
  }
}

/** How a sandbox ended that this host does not know to live. */
export function readTombstone(folder: string): SandboxEnd {
  try {
    const { reason, at } = JSON.parse(readFileSync(join(folder, TOMBSTONE), "utf8")) as { reason: EndReason; at: string };
    return { reason, at: new Date(at) };
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "ENOENT")) throw error;
    rmSync(join(folder, "root"), { recursive: true, force: true });
    return { reason: "keeper_lost", at: new Date() };
  }
}
