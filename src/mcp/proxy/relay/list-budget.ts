import { BelljarError } from "../../../errors.ts";

const MEBIBYTE = 1_048_576;
/** Of all lists of one server, and of all servers of one owner: in memory, where a value of two bytes takes many. */
const SERVER_MAX = 32 * MEBIBYTE;
const OWNER_MAX = 64 * MEBIBYTE;

/** Takes so many bytes for what a list holds, or gives them back. Throws `RESULT_TOO_LARGE` where there are not as many left. */
export type TakeBytes = (bytes: number) => void;

/** What the lists of all servers of one owner take in memory. */
export class ListBudget {
  #used = 0;

  get left(): number {
    return OWNER_MAX - this.#used;
  }

  add(bytes: number): void {
    this.#used += bytes;
  }
}

/** What the lists of one server take of it. Disposing it gives that back. */
export class ListShare implements Disposable {
  readonly #budget: ListBudget;
  readonly #server: string;
  #kept = 0;

  constructor(budget: ListBudget, server: string) {
    this.#budget = budget;
    this.#server = server;
  }

  /** What `work` takes counts in the place of what was taken before, for which it makes room. If it fails, that counts again. */
  async replace<T>(work: (take: TakeBytes) => Promise<T>): Promise<T> {
    let taken = 0;
    let isOver = false;
    const take = (bytes: number): void => {
      // One list may go on for a moment after another one has failed.
      if (isOver) return;
      if (taken + bytes > SERVER_MAX || bytes > this.#budget.left) throw this.#tooLarge();
      taken += bytes;
      this.#budget.add(bytes);
    };
    this.#budget.add(-this.#kept);
    try {
      const found = await work(take);
      this.#kept = taken;
      return found;
    } catch (cause) {
      this.#budget.add(this.#kept - taken);
      throw cause;
    } finally {
      isOver = true;
    }
  }

  [Symbol.dispose](): void {
    this.#budget.add(-this.#kept);
    this.#kept = 0;
  }

  #tooLarge(): BelljarError {
    const most = `${SERVER_MAX / MEBIBYTE} MiB in memory, all servers of one owner ${OWNER_MAX / MEBIBYTE} MiB`;
    return new BelljarError("RESULT_TOO_LARGE", `The server "${this.#server}" lists more than is kept: one server may list ${most}`);
  }
}
