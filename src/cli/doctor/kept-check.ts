import { formatDuration } from "../../config/duration.ts";
import type { IsolationCheck } from "../../runtime/contract/runtime.ts";
import type { KeepLimits } from "../../sandbox/keeping/choose-removals.ts";
import type { KeptTotals } from "../../sandbox/keeping/kept-sandboxes.ts";
import type { HostIsolation } from "../../sandbox/runtimes.ts";
import { formatBytes } from "../print.ts";

/** Adds what the stopped sandboxes of the home hold, and how much they may. */
export function withKeptCheck(isolation: HostIsolation, totals: KeptTotals, limits: KeepLimits): HostIsolation {
  return isolation.available ? { ...isolation, checks: [...isolation.checks, keptCheck(totals, limits)] } : isolation;
}

function keptCheck({ unasked, asked }: KeptTotals, { keep, keepBytes, keepMemoryBytes }: KeepLimits): IsolationCheck {
  const disk = ofMost(unasked.diskBytes, keepBytes);
  const memory = ofMost(unasked.memoryBytes, keepMemoryBytes);
  const until = keep === undefined ? "" : keep === 0 ? ", and are removed at once" : `, each for ${formatDuration(keep)}`;
  const more =
    asked.count === 0 ? "" : `; ${asked.count} that were stopped by a command hold ${formatBytes(asked.diskBytes + asked.memoryBytes)}`;
  const detail = `${unasked.count} sandboxes stopped by their deadlines hold ${disk} on disk and ${memory} in memory${until}${more}`;
  return { id: "kept-sandboxes", state: "enforced", detail };
}

function ofMost(bytes: number, most: number | undefined): string {
  return most === undefined ? formatBytes(bytes) : `${formatBytes(bytes)} of ${formatBytes(most)}`;
}
