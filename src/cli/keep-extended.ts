import { repeat } from "../async/repeat.ts";
import type { Sandbox } from "../sandbox/sandbox.ts";

const TIMES_A_LIFE = 3;

/**
 * The sandbox never has less than two thirds of the lifetime left until this is disposed, and keeps more if it has more. A failure is
 * tried again: whoever works in the sandbox hears of its end.
 */
export function keepExtended(sandbox: Pick<Sandbox, "info" | "extend">, lifetimeMs: number): AsyncDisposable {
  const extend = async (): Promise<void> => {
    const { deadline } = await sandbox.info();
    if (deadline && deadline.getTime() < Date.now() + lifetimeMs) await sandbox.extend(lifetimeMs);
  };
  return repeat(async () => {
    await extend().catch(() => undefined);
    return lifetimeMs / TIMES_A_LIFE;
  }, 0);
}
