import type { SandboxEvent } from "../../sandbox/sandbox.ts";
import { LOCAL } from "../../sandbox/sandbox.ts";
import type { CommandCall, CommandContext } from "../command.ts";
import { isSet } from "../command.ts";
import { openStack } from "../compose/open-stack.ts";
import { printLine } from "../print.ts";

/** The longest delay of a timer. */
const LONG_MS = 2 ** 31 - 1;

export async function run(call: CommandCall, context: CommandContext): Promise<number> {
  await using stack = await openStack(call, context);
  const show = isSet(call, "json") ? (event: SandboxEvent) => JSON.stringify(event) : toText;
  // Reading events does not keep the process alive; a timer does.
  const timer = setInterval(() => undefined, LONG_MS);
  try {
    for await (const event of stack.sandboxes.events(LOCAL, context.signal)) printLine(context.stdout, show(event));
  } finally {
    clearInterval(timer);
  }
  return 0;
}

function toText(event: SandboxEvent): string {
  if (event.type === "resync") return "resync";
  return event.type === "ended" ? `ended ${event.sandbox} ${event.reason}` : `${event.type} ${event.sandbox}`;
}
