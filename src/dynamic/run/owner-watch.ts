import type { Grants, Sandbox } from "../../sandbox/sandbox.ts";
import { findGranting, type OwnedNetwork, type OwnerGrants } from "./owner-rights.ts";

/** As often as the tokens of open connections are looked at. */
const LOOK_MS = 5_000;

/** Ends sandboxes of tools some seconds after their owner may not give these any more. Disposing ends the looks, and no sandbox. */
export class OwnerWatch implements AsyncDisposable {
  readonly #owners: OwnerGrants;
  readonly #lookMs: number;
  readonly #watched = new Map<Sandbox, OwnedNetwork>();
  readonly #over = new WeakSet<Sandbox>();
  readonly #ending = new Map<Sandbox, Promise<void>>();
  #timer: NodeJS.Timeout | undefined;
  #looking: Promise<void> | undefined;

  constructor(owners: OwnerGrants, lookMs = LOOK_MS) {
    this.#owners = owners;
    this.#lookMs = lookMs;
  }

  /** Until it ends. */
  add(sandbox: Sandbox, owned: OwnedNetwork): void {
    this.#watched.set(sandbox, owned);
    void sandbox.ended?.then(() => this.#forget(sandbox));
    this.#timer ??= setInterval(() => void (this.#looking ??= this.#look()), this.#lookMs).unref();
  }

  /** Whether it was ended here. */
  hasEnded(sandbox: Sandbox): boolean {
    return this.#over.has(sandbox);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    clearInterval(this.#timer);
    await this.#looking;
    await Promise.all(this.#ending.values());
  }

  #forget(sandbox: Sandbox): void {
    this.#watched.delete(sandbox);
    if (this.#watched.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  /** Never rejects. Each owner is asked for once. */
  async #look(): Promise<void> {
    const grants = new Map<string, Promise<readonly Grants[]>>();
    const ofOwner = (owner: string): Promise<readonly Grants[]> => {
      const known = grants.get(owner) ?? this.#owners.of(owner);
      grants.set(owner, known);
      return known;
    };
    await Promise.all(
      [...this.#watched].map(async ([sandbox, { owner, network }]) => {
        // What cannot be read gives nothing.
        const granting = await ofOwner(owner)
          .then((all) => findGranting(all, network))
          .catch(() => undefined);
        if (!granting) this.#end(sandbox);
      }),
    );
    this.#looking = undefined;
  }

  /** One that cannot be ended is tried again at the next look, and ends at its deadline. */
  #end(sandbox: Sandbox): void {
    this.#over.add(sandbox);
    if (this.#ending.has(sandbox)) return;
    const ending = sandbox
      .kill()
      .catch(() => undefined)
      .finally(() => this.#ending.delete(sandbox));
    this.#ending.set(sandbox, ending);
  }
}
