import type { FSWatcher } from "node:fs";
import { mkdirSync, watch } from "node:fs";
import { link, readFile, readdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { BelljarError } from "../../errors.ts";
import { errnoOf, fileError, ifPresent } from "../../files/file-error.ts";
import { createSandboxId } from "../sandbox-id.ts";
import type { NetworkState } from "./network-state.ts";
import { CLOSED_STATE, parseState, serialiseState } from "./network-state.ts";

const NAME = /^([a-z0-9]{20})\.([1-9][0-9]{0,14})\.json$/;
const UNFINISHED = ".new-";
/** Losing a race means that somebody else has changed it: this many in a row are a fault. */
const MAX_ROUNDS = 100;

/** A state and its place in the order of changes; 0: nothing has changed since the sandbox was made. */
export interface KeptState {
  readonly number: number;
  readonly state: NetworkState;
}

/** The state after a change. It may be asked several times, each time with a newer state. */
export type ChangeState = (state: NetworkState) => NetworkState | Promise<NetworkState>;

/**
 * `<home>/network/<id>.<number>.json`: the network state of those sandboxes whose state is not plainly `none`; the highest number
 * holds. A file appears whole, by a link that only one process can make, so of several that change a state at once none loses its
 * change: who comes second reads again. No lock, and a killed process leaves nothing half done. Files are for the owner alone.
 */
export class NetworkFiles {
  readonly #directory: string;
  readonly #report: (problem: string) => void;

  constructor(home: string, report: (problem: string) => void) {
    this.#directory = join(home, "network");
    this.#report = report;
    try {
      mkdirSync(this.#directory, { recursive: true, mode: 0o700 });
    } catch (cause) {
      throw fileError(this.#directory, cause);
    }
  }

  /** `first` when nothing has changed. A damaged file is reported and counts as closed. */
  async read(id: string, first: NetworkState): Promise<KeptState> {
    const number = highest(await this.#numbers(id));
    if (number === 0) return { number, state: first };
    const path = this.#path(id, number);
    const text = await ifPresent(path, readFile(path, "utf8"));
    if (text === undefined) return this.read(id, first);
    const state = parseState(id, text);
    if (!state) this.#report(`The network of sandbox ${id} is closed: ${path} is damaged; set it again with \`belljar sandbox network\``);
    return { number, state: state ?? CLOSED_STATE };
  }

  /** What `change` makes of the state, on disk; the same object from it leaves the disk as it is. */
  async change(id: string, first: NetworkState, change: ChangeState): Promise<KeptState> {
    for (let round = 0; round < MAX_ROUNDS; round += 1) {
      const before = await this.read(id, first);
      const state = await change(before.state);
      if (state === before.state) return before;
      const kept = { number: before.number + 1, state };
      if (await this.#take(id, kept)) return kept;
    }
    throw new BelljarError("RUNTIME_FAILED", `Other processes keep changing the network of sandbox ${id}: try again`);
  }

  /** The first file of a fresh sandbox; a change that was quicker stays. */
  async begin(id: string, state: NetworkState): Promise<void> {
    await this.#take(id, { number: 1, state });
  }

  /** The ids of all sandboxes that have a file. */
  async ids(): Promise<readonly string[]> {
    return [...new Set((await this.#names()).flatMap((name) => NAME.exec(name)?.[1] ?? []))];
  }

  async remove(id: string): Promise<void> {
    await this.#removeAll(id, await this.#numbers(id));
  }

  /** Calls back with the id whenever a file came, by this process or another one; until closed. It holds no process. */
  watch(changed: (id: string) => void): { close(): void } {
    let watcher: FSWatcher;
    try {
      watcher = watch(this.#directory, { persistent: false });
    } catch (cause) {
      throw fileError(this.#directory, cause);
    }
    const tell = (name: string) => {
      const id = NAME.exec(name)?.[1];
      if (id !== undefined) changed(id);
    };
    watcher.on("change", (_event, name) => void (typeof name === "string" && tell(name)));
    watcher.on("error", (cause) => this.#report(`Changes of networks by other processes are not seen any more: ${cause.message}`));
    return watcher;
  }

  /** False when another process was first. */
  async #take(id: string, { number, state }: KeptState): Promise<boolean> {
    const fresh = join(this.#directory, UNFINISHED + createSandboxId());
    try {
      await writeFile(fresh, serialiseState(state), { mode: 0o600, flag: "wx" });
      await link(fresh, this.#path(id, number));
    } catch (cause) {
      if (errnoOf(cause) === "EEXIST") return false;
      throw fileError(this.#directory, cause);
    } finally {
      await rm(fresh, { force: true });
    }
    return this.#settle(id, number);
  }

  /** A late one, whose number was taken and removed meanwhile, sees a higher one beside its own and gives way. */
  async #settle(id: string, number: number): Promise<boolean> {
    const numbers = await this.#numbers(id);
    const holds = highest(numbers) === number;
    await this.#removeAll(id, holds ? numbers.filter((one) => one < number) : [number]);
    return holds;
  }

  async #numbers(id: string): Promise<readonly number[]> {
    return (await this.#names()).flatMap((name) => {
      const match = NAME.exec(name);
      return match?.[1] === id ? [Number(match[2])] : [];
    });
  }

  async #names(): Promise<readonly string[]> {
    return (await ifPresent(this.#directory, readdir(this.#directory))) ?? [];
  }

  async #removeAll(id: string, numbers: readonly number[]): Promise<void> {
    await Promise.all(numbers.map((number) => ifPresent(this.#path(id, number), rm(this.#path(id, number), { force: true }))));
  }

  #path(id: string, number: number): string {
    return join(this.#directory, `${id}.${number}.json`);
  }
}

function highest(numbers: readonly number[]): number {
  return numbers.reduce((most, number) => Math.max(most, number), 0);
}
