import { BelljarError } from "../../errors.ts";
import type { IsolationCheck } from "../../runtime/contract/runtime.ts";
import type { StorageReport, StorageSum } from "../../sandbox/keeping/storage-report.ts";
import type { HostIsolation } from "../../sandbox/runtimes.ts";
import { formatBytes } from "../print.ts";

/** Adds what the home's storage pool holds, or why that cannot be told. Rejects only with what nobody foresaw. */
export async function withPoolCheck(isolation: HostIsolation, read: () => Promise<StorageReport | undefined>): Promise<HostIsolation> {
  try {
    const storagePool = await read();
    if (!storagePool) return isolation;
    return { ...isolation, checks: [...isolation.checks, poolCheck(storagePool)], storagePool };
  } catch (cause) {
    if (!(cause instanceof BelljarError)) throw cause;
    return { ...isolation, checks: [...isolation.checks, { id: "storage-pool", state: "absent", detail: cause.message }] };
  }
}

function poolCheck({ sizeBytes, usedBytes, hostBytes, live, stopped, left, frozen }: StorageReport): IsolationCheck {
  const parts = [
    count(live, "live sandbox", "live sandboxes"),
    `${count(stopped, "stopped one", "stopped ones")}, which deleting them frees`,
    ...(left.count > 0 ? [`${count(left, "ended one", "ended ones")}, which the next sweep frees`] : []),
    `${count(frozen, "frozen layer", "frozen layers")} of snapshots and checkpoints, and the pool itself`,
  ];
  const detail = `The storage pool uses ${formatBytes(usedBytes)} of ${formatBytes(sizeBytes)}, and takes ${formatBytes(hostBytes)} of the disk: ${parts.join("; ")}`;
  return { id: "storage-pool", state: "enforced", detail };
}

function count({ count: number, bytes }: StorageSum, one: string, more: string): string {
  return `${formatBytes(bytes)} of ${number} ${number === 1 ? one : more}`;
}
