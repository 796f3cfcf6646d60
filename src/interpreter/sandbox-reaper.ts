import type { Sandbox } from "../sandbox/sandbox.ts";

/** As many sandboxes may be on their way out while new ones are made. */
const DYING_MAX = 8;

/**
 * Owns the end of fresh sandboxes. A result need not wait for it: killing takes about as long as making, and nobody reads it.
 * Disposing waits for all, and rejects with the first failure there was.
 */
export class SandboxReaper implements AsyncDisposable {
  readonly #dying = new Set<Promise<void>>();
  readonly #failures: unknown[] = [];

  /** Kills the sandbox after the work, whatever comes of it. Work that fails has left nothing behind when this rejects. */
  async reapAfter<T>(sandbox: Sandbox, work: () => Promise<T>): Promise<T> {
    const result = await work().catch(async (error: unknown) => {
      await sandbox.kill();
      throw error;
    });
    this.#kill(sandbox);
    if (this.#dying.size > DYING_MAX) await Promise.race(this.#dying);
    return result;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#dying);
    if (this.#failures.length > 0) throw this.#failures[0];
  }

  #kill(sandbox: Sandbox): void {
    const dying = sandbox
      .kill()
      // One failure tells enough, and its sandbox still has its deadline.
      .catch((error: unknown) => void (this.#failures.length === 0 && this.#failures.push(error)))
      .finally(() => this.#dying.delete(dying));
    this.#dying.add(dying);
  }
}
