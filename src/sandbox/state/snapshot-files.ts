import { join } from "node:path";
import { BelljarError } from "../../errors.ts";
import { quotasOf } from "../grants.ts";
import type { Principal, Quotas } from "../sandbox.ts";
import { ClaimRoom } from "./claim-room.ts";
import { type Claim, ClaimedFiles, type KnownClaim } from "./claimed-files.ts";
import { parseSnapshot, type SnapshotRecord } from "./snapshot-record.ts";
import { snapshotNameTaken } from "./state-errors.ts";

/** `snapshots/<id>/`. A state that only forks are made from stays in the making. */
export type SnapshotFiles = ClaimedFiles<SnapshotRecord>;

export function openSnapshotFiles(home: string, report: (problem: string) => void): SnapshotFiles {
  return new ClaimedFiles({ directory: join(home, "snapshots"), what: "snapshot", parse: parseSnapshot, report });
}

/** How many snapshots an owner has, and their names. A claim rejects with `SNAPSHOT_NAME_TAKEN` and `QUOTA_EXCEEDED`. */
export function openSnapshotRoom(home: string, files: SnapshotFiles, standard?: Quotas): ClaimRoom {
  const refusal = (principal: Principal, claim: Claim, earlier: readonly KnownClaim[]): BelljarError | undefined =>
    findNamesake(claim, earlier) ?? usedUp(quotasOf(principal, standard).snapshots, earlier.length);
  return new ClaimRoom({ files, directory: join(home, "snapshots"), refusal });
}

function findNamesake({ name }: Claim, earlier: readonly KnownClaim[]): BelljarError | undefined {
  const namesake = name === undefined ? undefined : earlier.find((claim) => claim.name === name);
  return namesake && name !== undefined ? snapshotNameTaken(name, namesake.id) : undefined;
}

function usedUp(most: number | undefined, has: number): BelljarError | undefined {
  if (most === undefined || has < most) return undefined;
  return new BelljarError(
    "QUOTA_EXCEEDED",
    `The quota of ${most} snapshots is used up (${has} are kept or are just being made): remove one with \`belljar snapshot remove\``,
  );
}
