import type { Sandbox } from "../sandbox/sandbox.ts";

/** Maximum number of sandboxes that may be ending while new ones are created. */
const DYING_MAX = 8;

/**
 * Kills fresh sandboxes in the background. A result does not wait for the kill, which takes about as long as the creation.
 * Disposing waits for all kills, and rejects with the first failure.
 */
export class SandboxReaper implements AsyncDisposable {
  readonly #dying = new Set<Promise<void>>();
  readonly #failures: unknown[] = [];

  /** Kills the sandbox after the work, whether it succeeds or fails. If the work fails, the sandbox has ended before this rejects. */
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
      // The first failure is enough to report. The sandbox still ends at its deadline.
      .catch((error: unknown) => void (this.#failures.length === 0 && this.#failures.push(error)))
      .finally(() => this.#dying.delete(dying));
    this.#dying.add(dying);
  }
}
