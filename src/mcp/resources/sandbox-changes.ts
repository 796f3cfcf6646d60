import { type CreateOptions, LIVE_STATES, type Principal, type Sandbox, type SandboxInfo, type Sandboxes } from "../../sandbox/sandbox.ts";

/** A sandbox of the principal was made or has ended. */
export interface SandboxChange {
  readonly principalId: string;
  readonly sandboxId: string;
}

/** What one process may keep an eye on. */
const WATCHED_MAX = 10_000;

/**
 * Tells what becomes of sandboxes that this process makes or watches. Use `sandboxes` in place of what it was opened with.
 * Sandboxes that other processes make are noticed once they are watched.
 */
export class SandboxChanges {
  readonly sandboxes: Sandboxes;
  readonly #inner: Sandboxes;
  readonly #listeners = new Set<(change: SandboxChange) => void>();
  readonly #watched = new Set<string>();

  constructor(sandboxes: Sandboxes) {
    this.#inner = sandboxes;
    this.sandboxes = {
      create: async (principal, options, signal) => this.#made(principal, await sandboxes.create(principal, options, signal)),
      default: (principal, name, options, signal) => this.#default(principal, name, { options, signal }),
      get: (principal, id) => sandboxes.get(principal, id),
      getLinked: (id) => sandboxes.getLinked(id),
      info: (principal, id) => sandboxes.info(principal, id),
      list: (principal, filter) => sandboxes.list(principal, filter),
    };
  }

  onChange(listener: (change: SandboxChange) => void): () => void {
    const entry = (change: SandboxChange): void => listener(change);
    this.#listeners.add(entry);
    return () => this.#listeners.delete(entry);
  }

  /** From here on its end is told. Rejects as `get` does. */
  async watch(principal: Principal, id: string): Promise<void> {
    this.#follow(principal, await this.#inner.get(principal, id));
  }

  /** From here on the end of each of its sandboxes is told; one that ends meanwhile needs no telling. */
  async watchAll(principal: Principal): Promise<void> {
    const live = await this.#inner.list(principal, { state: LIVE_STATES });
    await Promise.allSettled(live.map(({ id }: SandboxInfo) => this.watch(principal, id)));
  }

  async #default(
    principal: Principal,
    name: string,
    { options, signal }: { readonly options: CreateOptions; readonly signal: AbortSignal },
  ) {
    const result = await this.#inner.default(principal, name, options, signal);
    if (result.created) this.#made(principal, result.sandbox);
    return result;
  }

  #made(principal: Principal, sandbox: Sandbox): Sandbox {
    this.#tell({ principalId: principal.id, sandboxId: sandbox.id });
    this.#follow(principal, sandbox);
    return sandbox;
  }

  #follow({ id: principalId }: Principal, { id: sandboxId, ended }: Sandbox): void {
    if (!ended || this.#watched.has(sandboxId) || this.#watched.size >= WATCHED_MAX) return;
    this.#watched.add(sandboxId);
    void ended.then(() => this.#ended({ principalId, sandboxId }));
  }

  #ended(change: SandboxChange): void {
    this.#watched.delete(change.sandboxId);
    this.#tell(change);
  }

  #tell(change: SandboxChange): void {
    for (const listener of this.#listeners) listener(change);
  }
}
