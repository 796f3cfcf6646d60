import { BelljarError } from "../errors.ts";

/** Files store a time as ISO 8601 with a year of four digits. */
const LAST_MS = Date.UTC(9999, 11, 31);

/** Throws `ARGUMENTS_INVALID` for an invalid time, and for one before 1970 or after 9999: its file could not be read again. */
export function assertStorableTime(what: string, time: Date): void {
  const ms = time.getTime();
  if (ms >= 0 && ms <= LAST_MS) return;
  throw new BelljarError("ARGUMENTS_INVALID", `${what} must be a time from 1970 to 9999: name another one`);
}
