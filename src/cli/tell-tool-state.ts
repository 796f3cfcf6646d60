import type { UnitInfo } from "../dynamic/wire/unit-schema.ts";

/** One line with what callers have of a tool now. */
export function tellState({ name, state, version, newest, isShared }: UnitInfo): string {
  const isLive = state === "live";
  const behind = isLive && version !== newest ? ` (newest ${newest})` : "";
  const shared = isShared ? ", shared with everybody" : "";
  return isLive ? `${name}: version ${version} is live${behind}${shared}` : `${name}: ${state}, callers do not have it`;
}
