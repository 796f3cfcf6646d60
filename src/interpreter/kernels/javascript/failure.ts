import { inspect, stripVTControlCharacters } from "node:util";
import { isNativeError } from "node:util/types";
import type { Message } from "./channel.ts";

const MESSAGE_CHARACTERS = 64 * 1024;
const FRAME = /^\s+at /;
/** Frames of Node and of the kernel say nothing about the user's code. A negative column is what the kernel put before a run's code. */
const FOREIGN = /\((?:node|kernel):|at (?:async )?(?:node|kernel):|javascript-kernel\.mjs|\(<anonymous>\)|<run \d+>:1:-/;

type Failure = Message & { readonly type: "error" };

export const INTERRUPTED: Failure = {
  type: "error",
  name: "KeyboardInterrupt",
  message: "The run was interrupted",
  traceback: "KeyboardInterrupt: The run was interrupted",
};

/** What was thrown, for the host. It may run the thrown value's own code. */
export function toFailure(thrown: unknown): Failure {
  if (!isNativeError(thrown) && !(thrown instanceof Error)) {
    const text = plain(inspect(thrown, { depth: 2, maxStringLength: MESSAGE_CHARACTERS }));
    return { type: "error", name: "Error", message: text, traceback: `Uncaught ${text}` };
  }
  const { name, message }: { readonly name: unknown; readonly message: unknown } = thrown;
  return { type: "error", name: plain(String(name)), message: plain(String(message)), traceback: toTraceback(thrown) };
}

/** The stack with its causes, by the user's own frames. */
export function toTraceback(thrown: unknown): string {
  const shown: string[] = [];
  for (const line of plain(inspect(thrown, { depth: 2, maxStringLength: MESSAGE_CHARACTERS, breakLength: 120 })).split("\n")) {
    if (!FRAME.test(line) || !FOREIGN.test(line)) shown.push(line);
    // The error's own fields begin on the line of its last frame.
    else if (line.endsWith(" {")) shown.push(`${shown.pop() ?? ""} {`);
  }
  return shown.join("\n");
}

function plain(text: string): string {
  return stripVTControlCharacters(text.slice(0, MESSAGE_CHARACTERS));
}
