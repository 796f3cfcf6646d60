import { mkdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { BelljarError } from "../../errors.ts";
import type { Isolation, RunningSandbox, Runtime, SandboxEnd, SandboxSpec } from "../runtime.ts";
import { findCgroups } from "./cgroups.ts";
import { findIdMap } from "./id-map.ts";
import type { NamespaceHost, NamespaceRuntimeOptions } from "./namespace-host.ts";
import { probeIsolation } from "./isolation.ts";
import { clearFolder } from "./clear-folder.ts";
import { encodeClearSpec, encodeJailSpec, type JailPaths, type Keeper } from "./jail-spec.ts";
import { NamespaceSandbox, type NamespaceSandboxOptions, readEnd } from "./running-sandbox.ts";
import { Spawner } from "./spawner.ts";
import { openStorage, type StorageKind } from "./storage.ts";
import { baseEnvironment, openBaseTemplate } from "./template/base-template.ts";
import type { Template } from "./template/template.ts";

/** Layers on disk belong to ids from here on, which nothing ever runs as. The jail knows the same number. */
const CANONICAL_UID = 1_000_000_000;
/** Slots are ids of the whole machine, so all homes share one folder. */
const SLOTS = "/run/belljar/slots";

/** Sandboxes of namespaces, overlays, control groups and a system call filter on this host's kernel. As root and as an ordinary user. */
export async function openNamespaceRuntime(options: NamespaceRuntimeOptions): Promise<Runtime> {
  if (process.platform !== "linux") {
    throw new BelljarError(
      "RUNTIME_UNAVAILABLE",
      "Namespace sandboxes need Linux. On macOS run Belljar in a Linux virtual machine and point BELLJAR_URL at it",
    );
  }
  return new NamespaceRuntime(await inspectHost(options));
}

async function inspectHost(options: NamespaceRuntimeOptions): Promise<NamespaceHost> {
  const idMap = findIdMap(options.idMap);
  const isRoot = idMap.kind === "slot";
  const cgroups = findCgroups();
  const storage = await openStorage(options, isRoot);
  mkdirSync(options.runtimeDirectory, { recursive: true, mode: 0o700 });
  if (isRoot) mkdirSync(SLOTS, { recursive: true, mode: 0o700 });
  /* rlimits count open files and processes everywhere; control groups and storage add theirs. */
  const disk = storage.kind === "home" ? [] : (["diskBytes"] as const);
  const limits = [...new Set([...cgroups.limits, "pids" as const, "openFiles" as const, ...disk])];
  return { options, idMap, cgroups, storage, limits, bootId: readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim() };
}

class NamespaceRuntime implements Runtime {
  readonly name = "namespace";
  readonly #host: NamespaceHost;
  readonly #spawner: Spawner;
  /** Ended sandboxes whose keepers have left nothing to clear. Each stays until it is asked for, which the domain does once. */
  readonly #removed = new Set<string>();
  #template: Promise<Template> | undefined;
  #isolation: Promise<Isolation> | undefined;

  constructor(host: NamespaceHost) {
    this.#host = host;
    this.#spawner = new Spawner(host.options.binary);
  }

  probe(): Promise<Isolation> {
    return (this.#isolation ??= probeIsolation(this.#host, this));
  }

  async create(spec: SandboxSpec, signal: AbortSignal): Promise<RunningSandbox> {
    this.#needLimits(spec);
    if (signal.aborted) throw cancelled(signal);
    const template = await this.#need(spec.template);
    const { cgroups, bootId } = this.#host;
    const request = encodeJailSpec({
      place: this.#place(spec.id, spec.folder, this.#host.storage.kindFor(spec.limits)),
      spec,
      template,
      cgroups: cgroups.bases,
      groupLimits: cgroups.limits,
      bootId,
      ...(spec.workspace && { workspaceOwner: statSync(spec.workspace.path) }),
    });
    try {
      await this.#spawner.start(spec.id, request);
    } catch (cause) {
      const isLate = cause instanceof BelljarError && cause.code === "SANDBOX_UNRESPONSIVE";
      await this.#clear(spec.id, spec.folder, isLate ? "silent" : "gone");
      throw cause;
    }
    const sandbox = this.#running(spec.id, spec.folder, { env: template.env, isUp: true });
    if (!signal.aborted) return sandbox;
    await sandbox[Symbol.asyncDispose]();
    throw cancelled(signal);
  }

  async open(id: string, folder: string): Promise<RunningSandbox | undefined> {
    const sandbox = this.#running(id, folder, { env: baseEnvironment(), isUp: false });
    try {
      await sandbox.usage();
      return sandbox;
    } catch (cause) {
      // What does not answer lives: it can be looked at, and killed.
      if (cause instanceof BelljarError && cause.code === "SANDBOX_UNRESPONSIVE") return sandbox;
      await sandbox.release();
      return undefined;
    }
  }

  async clear(id: string, folder: string): Promise<SandboxEnd | undefined> {
    if (this.#removed.delete(id)) return readEnd(folder);
    return this.#clear(id, folder, "unknown");
  }

  async #clear(id: string, folder: string, keeper: Keeper): Promise<SandboxEnd | undefined> {
    if (!(await clearFolder(this.#host.options.binary, encodeClearSpec(this.#place(id, folder), keeper)))) return undefined;
    return (await readEnd(folder)) ?? { reason: "keeper_lost", at: new Date() };
  }

  #running(id: string, folder: string, { env, isUp }: Pick<NamespaceSandboxOptions, "env" | "isUp">): NamespaceSandbox {
    const countsUsage = this.#host.cgroups.limits.includes("memoryBytes");
    return new NamespaceSandbox({
      id,
      folder,
      env,
      sockets: this.#sockets(id),
      countsUsage,
      isUp,
      onRemoved: () => void this.#removed.add(id),
      clear: (keeper) => this.#clear(id, folder, keeper),
    });
  }

  /** To clear a sandbox, the host's own kind finds whatever a smaller one left: nothing on disk. */
  #place(id: string, folder: string, kind: StorageKind = this.#host.storage.kind): JailPaths {
    const { storage, idMap } = this.#host;
    return { id, folder, sockets: this.#sockets(id), layers: storage.layers(kind, id, folder), slots: SLOTS, idMap, storage: kind };
  }

  #sockets(id: string): string {
    return join(this.#host.options.runtimeDirectory, id);
  }

  async #need(name: string): Promise<Template> {
    if (name !== "base") throw new BelljarError("TEMPLATE_NOT_FOUND", `No template "${name}"; there is "base"`);
    const { home, kernels, programs, onProgress } = this.#host.options;
    const given = { ...(kernels && { kernels }), ...(programs && { programs }), ...(onProgress && { onProgress }) };
    const canonical = this.#host.idMap.kind === "slot" ? { canonicalUid: CANONICAL_UID } : {};
    this.#template ??= openBaseTemplate({ home, ...canonical, ...given }).catch((cause: unknown) => {
      this.#template = undefined; // the next create tries again
      throw cause;
    });
    return this.#template;
  }

  #needLimits(spec: SandboxSpec): void {
    const missing = spec.required.filter((limit) => !this.#host.limits.includes(limit));
    if (missing.length === 0) return;
    throw new BelljarError(
      "LIMIT_UNENFORCEABLE",
      `This host cannot enforce ${missing.join(", ")}. Leave it out, or ask for best effort; \`belljar doctor\` tells what would make it possible`,
    );
  }
}

function cancelled(signal: AbortSignal): BelljarError {
  return new BelljarError("CANCELLED", "The sandbox was not made: its caller cancelled", { cause: signal.reason });
}
