import { INSIDE } from "../../sandbox/sandbox.ts";

/** The most that hosts show of the instructions. */
const BYTES_MAX = 2_048;
/** For the model. */
const INSTRUCTIONS = [
  "Belljar gives you a computer: an isolated Linux sandbox with files, a shell and programming languages.",
  "Tools work on your default sandbox, which is made on first use and keeps its files between calls.",
  `Relative paths start at the workspace, to which ${INSIDE.workspace} leads, or without one at your home, ${INSIDE.userHome}. What a sandbox may reach on the network is decided for it: often nothing.`,
  "Use run_command for shell commands, with background for servers, and execute_code for a one-shot program in a sandbox of its own.",
  "Where search_tools is listed, there are more tools than your list shows: find one with it, then run it with call_tool.",
  "The last line of a result that was cut names the call that reads on.",
].join("\n");

/** The same, of a server whose only sandbox is the machine that it runs in. */
const MACHINE_INSTRUCTIONS = [
  "Belljar gives you the Linux machine that it runs in: its files, a shell and programming languages. Where tools speak of your sandbox, this machine is meant.",
  "Relative paths start at the folder in which commands start. Other clients of this server work in the same machine.",
  "Use run_command for shell commands, with background for servers, and run_code for code that keeps its variables.",
  ...INSTRUCTIONS.split("\n").slice(-2),
].join("\n");

/** The instructions for one caller. The lines about what the caller has come last, and those that are too long for the whole are left out. */
export function instructionsFor(own: readonly string[], isMachine = false): string {
  return own.reduce(
    (text, line) => {
      const longer = `${text}\n${line}`;
      return Buffer.byteLength(longer) <= BYTES_MAX ? longer : text;
    },
    isMachine ? MACHINE_INSTRUCTIONS : INSTRUCTIONS,
  );
}
