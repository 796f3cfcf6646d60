import { BelljarError } from "../../../errors.ts";

/** The error of a field of an entry that the hub cannot follow. */
export function entryProblem(server: string, field: string, problem: string): BelljarError {
  return new BelljarError("CONFIG_INVALID", `The server "${server}" cannot be started: in ${field}, ${problem}`);
}
