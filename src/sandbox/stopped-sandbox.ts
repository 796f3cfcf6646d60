import type { LiveSandboxes } from "./live-sandboxes.ts";
import { isOpenLink } from "../network/ports/port-link.ts";
import { removeLink } from "./network/port-links.ts";
import { lockedSandbox } from "./locked-sandbox.ts";
import type { OwnSandbox } from "./own-sandbox.ts";
import { stopped } from "./refusals.ts";
import type { SandboxRecord } from "./sandbox-record.ts";

/** A sandbox between two runs. It can be inspected, started and deleted. Calls that need a run reject with `SANDBOX_STOPPED`. */
export function stoppedSandbox(record: SandboxRecord, live: LiveSandboxes): OwnSandbox {
  const refusal = stopped(record);
  return {
    ...lockedSandbox(refusal),
    id: record.id,
    owner: record.owner,
    inside: record.inside,
    record,
    timeLine: live.timeLine(record),
    networkState: async () => (await live.networks.read(record)).state,
    info: () => live.info(record),
    usage: () => Promise.reject(refusal),
    knownOomKills: () => Promise.reject(refusal),
    portLinks: async () => (await live.networks.read(record)).state.links.filter(isOpenLink),
    removePort: (port) => removeLink(live.networks, record, port),
    stop: () => live.flush(record), // its deadline may have stopped it
    start: (signal, principal) => live.startAgain(record, signal, principal),
    kill: () => live.deleteStopped(record),
  };
}
