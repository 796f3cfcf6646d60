import type { StartCommand } from "../../sandbox/wire/start-command.ts";
import { toSource } from "../template-record.ts";
import type { Making, MakingParts, Wish } from "./making.ts";

/** Of the sandbox, should this process die. Longer than any start may take. */
const TRIED_MS = 900_000;
const TRIED = { timeoutMs: TRIED_MS, onDeadline: "kill", bestEffort: true, ephemeral: true } as const;

interface Tried {
  readonly making: Making;
  readonly start: StartCommand;
}

/** Runs a start command in what was made, as its sandboxes will. Rejects with `START_FAILED`, in place of the creates that would. */
export async function tryStart({ stored, sandboxes }: MakingParts, wish: Wish, { making, start }: Tried): Promise<void> {
  const { principal, id, options, work, signal } = wish;
  const { name, network, limits } = options;
  const record = { version: 1, id, name, owner: principal.id, createdAt: new Date(), ...making, start, ...(limits && { limits }) } as const;
  await stored.whileTried(principal, toSource(record), async () => {
    const reach = { ...(network !== undefined && { network }), ...(work?.isPublicOnly === true && { isPublicOnly: true }) };
    const sandbox = await sandboxes.create(principal, { ...TRIED, template: id, ...reach }, signal);
    await sandbox.kill();
  });
}
