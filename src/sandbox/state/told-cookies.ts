import { BelljarError } from "../../errors.ts";
import { INSIDE } from "../../protocol/inside.ts";
import type { Sandbox } from "../sandbox.ts";

const COPIED =
  "The browser's profile was copied with its cookies: where it was logged in, the fork is logged in too, and what one of them does there the other sees";

/** A sentence if the files that a fork began with hold what a browser knows of its user. One that does not answer says nothing. */
export async function tellCookies(forks: readonly Sandbox[], signal: AbortSignal): Promise<readonly string[]> {
  const [first] = forks;
  if (!first) return [];
  try {
    await first.guest.files.stat(`${first.inside.home}/${INSIDE.browserFolder}/profile`, { signal });
    return [COPIED];
  } catch (cause) {
    if (cause instanceof BelljarError) return [];
    throw cause;
  }
}
