import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { fileError } from "../../files/file-error.ts";
import { FolderView } from "../../files/folder-view.ts";
import { highestNumbers, NumberedFile, watchNumberedFiles } from "../../files/numbered-file.ts";
import { isSandboxId } from "../sandbox-id.ts";
import type { NetworkState } from "./network-state.ts";
import { CLOSED_STATE, parseState, serialiseState } from "./network-state.ts";

/** A state and its place in the order of changes; 0: nothing has changed since the sandbox was made. */
export interface KeptState {
  readonly number: number;
  readonly state: NetworkState;
}

/** The state after a change. It may be asked several times, each time with a newer state. */
export type ChangeState = (state: NetworkState) => NetworkState | Promise<NetworkState>;

/**
 * `<home>/network/<id>.<number>.json`: the network state of those sandboxes whose state is not plainly `none`, each a numbered file.
 */
export class NetworkFiles {
  readonly #directory: string;
  readonly #report: (problem: string) => void;
  readonly #numbers: FolderView<ReadonlyMap<string, number>>;
  /** What was read of the files that `#numbers` has now: a file never changes. */
  #read = new Map<string, KeptState>();

  constructor(home: string, report: (problem: string) => void) {
    this.#directory = join(home, "network");
    this.#report = report;
    this.#numbers = new FolderView(this.#directory, (names) => this.#toNumbers(names));
    try {
      mkdirSync(this.#directory, { recursive: true, mode: 0o700 });
    } catch (cause) {
      throw fileError(this.#directory, cause);
    }
  }

  /** `first` when nothing has changed. A damaged file is reported and counts as closed. */
  read(id: string, first: NetworkState): Promise<KeptState> {
    return this.look().read(id, first);
  }

  /** Reads many states with one look at the folder. `known` reads no file. */
  look() {
    const numbers = this.#numbers.read();
    const known = (id: string, first: NetworkState): KeptState | undefined => {
      const number = numbers.get(id);
      if (number === undefined) return { number: 0, state: first };
      const found = this.#read.get(id);
      return found?.number === number ? found : undefined;
    };
    return { known, read: async (id: string, first: NetworkState): Promise<KeptState> => known(id, first) ?? this.#load(id, first) };
  }

  async #load(id: string, first: NetworkState): Promise<KeptState> {
    const { number, value: state } = await this.#file(id).read(first);
    const kept = { number, state };
    // What is damaged may be mended in its place.
    if (number > 0 && state !== CLOSED_STATE) this.#read.set(id, kept);
    return kept;
  }

  #toNumbers(names: readonly string[]): ReadonlyMap<string, number> {
    const numbers = highestNumbers(names);
    this.#read = new Map([...this.#read].filter(([id]) => numbers.has(id)));
    return numbers;
  }

  /** What `change` makes of the state, on disk; the same object from it leaves the disk as it is. */
  async change(id: string, first: NetworkState, change: ChangeState): Promise<KeptState> {
    const { number, value } = await this.#file(id).change(first, change);
    return { number, state: value };
  }

  /** The first file of a fresh sandbox; a change that was quicker stays. */
  async begin(id: string, state: NetworkState): Promise<void> {
    await this.#file(id).take({ number: 1, value: state });
  }

  /** The ids of all sandboxes that have a file. */
  async ids(): Promise<readonly string[]> {
    return [...this.#numbers.read().keys()].filter(isSandboxId);
  }

  async remove(id: string): Promise<void> {
    await this.#file(id).remove();
  }

  /** Calls back with the id whenever a file came, by this process or another one; until closed. It holds no process. */
  watch(changed: (id: string) => void): { close(): void } {
    return watchNumberedFiles(this.#directory, {
      changed: (name) => isSandboxId(name) && changed(name),
      failed: (cause) => this.#report(`Changes of networks by other processes are not seen any more: ${cause.message}`),
    });
  }

  #file(id: string): NumberedFile<NetworkState> {
    return new NumberedFile({
      folder: this.#directory,
      name: id,
      title: `the network of sandbox ${id}`,
      serialise: serialiseState,
      parse: (text, path) => parseState(id, text) ?? this.#closed(id, path),
    });
  }

  #closed(id: string, path: string): NetworkState {
    this.#report(`The network of sandbox ${id} is closed: ${path} is damaged; set it again with \`belljar sandbox network\``);
    return CLOSED_STATE;
  }
}
