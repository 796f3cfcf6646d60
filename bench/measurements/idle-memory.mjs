import { pssOfSandboxes, summarise } from "../harness.mjs";

const SANDBOXES = 20;

/** PSS is told to root alone. */
export const needsRoot = true;

/** What a sandbox takes that does nothing: its keeper and its guest. */
export async function measure(home) {
  for (let i = 0; i < SANDBOXES; i += 1) await home.create();
  const sums = pssOfSandboxes(home);
  if (sums.length !== SANDBOXES) throw new Error(`${sums.length} keepers were found for ${SANDBOXES} sandboxes`);
  return [{ what: "idle sandbox, PSS of keeper + guest", unit: "MiB", measured: summarise(sums), most: 0.4 }];
}
