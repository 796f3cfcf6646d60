import { BelljarError } from "../../errors.ts";
import type { Sandbox } from "../../sandbox/sandbox.ts";
import { heldBytes } from "../shown-output.ts";
import type { ToolLimits } from "../tool-limits.ts";
import { Turns } from "../../async/turns.ts";
import type { ShellCommand, ShellResult } from "./shell-session.ts";
import { ShellSession } from "./shell-session.ts";

/** The persistent shells of all sandboxes. They live as long as this process; disposing it ends them. */
export interface ShellSessions extends AsyncDisposable {
  /** Runs in the session of that name, made on first use. Commands of one session run one after the other, in the order in which they came. */
  run(sandbox: Sandbox, name: string, command: ShellCommand): Promise<ShellResult & { readonly created: boolean }>;
}

interface Slot {
  readonly turns: Turns;
  session: ShellSession | undefined;
}

const SESSIONS_MAX = 16;
const WAITING_MAX = 16;

export function createShellSessions(config: Pick<ToolLimits, "maxOutputBytes">): ShellSessions {
  const maxOutputBytes = heldBytes(config);
  const bySandbox = new Map<string, Map<string, Slot>>();
  const closing = new AbortController();

  function slotOf(sandbox: Sandbox, name: string): Slot {
    const slots = bySandbox.get(sandbox.id) ?? new Map<string, Slot>();
    const slot = slots.get(name) ?? { turns: new Turns(WAITING_MAX), session: undefined };
    if (!slots.has(name) && slots.size >= SESSIONS_MAX) {
      throw new BelljarError("PROCESS_LIMIT", `This sandbox has ${SESSIONS_MAX} shell sessions; end one with the command exit`);
    }
    bySandbox.set(sandbox.id, slots.set(name, slot));
    return slot;
  }
  function forget(sandbox: Sandbox, name: string, slot: Slot): void {
    if (slot.turns.isBusy || (slot.session && !slot.session.hasEnded)) return;
    const slots = bySandbox.get(sandbox.id);
    if (slots?.get(name) !== slot) return;
    slots.delete(name);
    if (slots.size === 0) bySandbox.delete(sandbox.id);
  }
  async function open(sandbox: Sandbox, name: string, slot: Slot): Promise<ShellSession> {
    const session = await ShellSession.open(sandbox, { maxOutputBytes, signal: closing.signal });
    slot.session = session;
    void session.gone().then(() => forget(sandbox, name, slot));
    return session;
  }
  return {
    async run(sandbox, name, command) {
      const slot = slotOf(sandbox, name);
      const turn = await slot.turns.take(command.signal);
      try {
        const living = slot.session?.hasEnded === false ? slot.session : undefined;
        const session = living ?? (await open(sandbox, name, slot));
        return { ...(await session.run(command)), created: living === undefined };
      } finally {
        turn[Symbol.dispose]();
        forget(sandbox, name, slot);
      }
    },
    async [Symbol.asyncDispose]() {
      closing.abort();
      const sessions = [...bySandbox.values()].flatMap((slots) => [...slots.values()].flatMap(({ session }) => session ?? []));
      await Promise.all(sessions.map((session) => session.gone()));
    },
  };
}
