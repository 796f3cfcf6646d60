import { setTimeout as pause } from "node:timers/promises";

const READY_MS = 30_000;

/** Between two looks: those who are waited for need the processor too. */
const LOOK_MS = 5;

/** Resolves once it is so, for what happens in the background and tells nobody. Rejects when it never is. */
export async function until(isSo: () => boolean, problem = () => `It is never so that ${String(isSo)}`): Promise<void> {
  for (const end = Date.now() + READY_MS; !isSo(); await pause(LOOK_MS)) if (Date.now() > end) throw new Error(problem());
}
