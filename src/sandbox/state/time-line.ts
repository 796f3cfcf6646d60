export type { RollbackResult, TimeLine } from "../sandbox.ts";
export type * from "../wire/state-schemas.ts";
