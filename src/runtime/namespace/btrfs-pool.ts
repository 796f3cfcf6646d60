import { BelljarError } from "../../errors.ts";

/** The folder of the home's btrfs pool, mounted; undefined where there can be none. */
export async function openPool(_home: string, required: boolean): Promise<string | undefined> {
  if (required) throw new BelljarError("RUNTIME_UNAVAILABLE", "The btrfs pool is not part of this release; use storage auto");
  return undefined;
}
