export type { ForkOptions, Forks, ForkSource, Snapshots } from "../sandbox.ts";
export type { SnapshotInfo, SnapshotOptions } from "../wire/state-schemas.ts";
