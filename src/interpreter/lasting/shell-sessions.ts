import { heldBytes } from "../output-window.ts";
import { LastingInterpreters } from "./lasting-interpreters.ts";
import type { ShellCommand, ShellResult } from "./shell-session.ts";
import { ShellSession } from "./shell-session.ts";

/** The persistent shells of all sandboxes. A shell ends with its sandbox, or with this process. */
export type ShellSessions = LastingInterpreters<ShellCommand, ShellResult>;

export function createShellSessions(config: { readonly maxOutputBytes: number }): ShellSessions {
  const maxOutputBytes = heldBytes(config);
  return new LastingInterpreters({
    name: "shell sessions",
    endIt: "end one with the command exit",
    max: 16,
    waitingMax: 16,
    open: (sandbox, _name, signal) => ShellSession.open(sandbox, { maxOutputBytes, signal }),
  });
}
