import { mapLimit } from "../../async/map-limit.ts";
import type { PoolHoldings, Runtime } from "../../runtime/contract/runtime.ts";
import { Journal } from "../journal.ts";
import { RunStates } from "../run-states.ts";

const PARALLEL = 16;

/** What the storage pool of a home holds, in bytes, as of some seconds ago. */
export interface StorageReport {
  /** As much as it may hold now. It follows the room that the host has. */
  readonly sizeBytes: number;
  readonly usedBytes: number;
  /** As much as it takes of the host's disk. What is more than it uses is given back. */
  readonly hostBytes: number;
  /** What these sandboxes wrote. Several may share it: then it counts for the one that wrote it. */
  readonly live: StorageSum;
  /** Deleting these gives back what no snapshot or checkpoint shares with them. */
  readonly stopped: StorageSum;
  /** Of sandboxes that have ended, and of none. */
  readonly left: StorageSum;
  /** Frozen layers, of snapshots and checkpoints: what is used by none of the above, with what the file system needs for itself. */
  readonly frozen: StorageSum;
}

export interface StorageSum {
  readonly count: number;
  readonly bytes: number;
}

type Life = "live" | "stopped" | "left";

/** Undefined for a home without a pool. Rejects with `RUNTIME_UNAVAILABLE` and `RUNTIME_FAILED`. */
export async function readStorage(runtimes: Iterable<Runtime>, home: string): Promise<StorageReport | undefined> {
  for (const { storagePool } of runtimes) {
    const holdings = await storagePool?.holds();
    if (holdings) return reportOf(holdings, await livesOf([...holdings.sandboxes.keys()], home));
  }
  return undefined;
}

export function reportOf({ sandboxes, layers, ...sizes }: PoolHoldings, lives: ReadonlyMap<string, Life>): StorageReport {
  const sumOf = (life: Life): StorageSum => {
    const bytes = [...sandboxes].flatMap(([id, wrote]) => (lives.get(id) === life ? [wrote] : []));
    return { count: bytes.length, bytes: sum(bytes) };
  };
  const frozen = { count: layers, bytes: Math.max(0, sizes.usedBytes - sum([...sandboxes.values()])) };
  return { ...sizes, live: sumOf("live"), stopped: sumOf("stopped"), left: sumOf("left"), frozen };
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, one) => total + one, 0);
}

async function livesOf(ids: readonly string[], home: string): Promise<ReadonlyMap<string, Life>> {
  const journal = new Journal(home, () => undefined);
  const states = new RunStates(journal);
  return new Map(
    await mapLimit(ids, PARALLEL, async (id): Promise<readonly [string, Life]> => {
      const entry = await journal.read(id);
      if (!entry || entry.end) return [id, "left"];
      const { phase } = await states.read(entry.record);
      return [id, phase === "stopped" ? "stopped" : phase === "deleted" ? "left" : "live"];
    }),
  );
}
