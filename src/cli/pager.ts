import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import type { CommandContext } from "./command.ts";

const NOT_FOUND = 127;
/** As git's: quit if all fits on the screen, show colours, leave the text on the screen. */
const DEFAULTS = { LESS: "FRX", LV: "-c" };

/**
 * Shows a text that may be long: on a terminal through the pager of the person (PAGER, else `less`; `cat` or an empty PAGER is none), else
 * as it is. Resolves when the person has quit the pager, whether or not all was read; until then Ctrl+C is the pager's.
 */
export async function showPaged(context: CommandContext, text: string): Promise<void> {
  const { stdout, env } = context;
  const command = env["PAGER"] ?? "less";
  const wantsPager = stdout.isTTY === true && text !== "" && env["TERM"] !== "dumb" && !["", "cat"].includes(command.trim());
  if (wantsPager && (await page(context, command, text))) return;
  stdout.write(text);
}

/** False if there is no such pager. */
async function page({ env, holdInterrupts }: CommandContext, command: string, text: string): Promise<boolean> {
  using _held = holdInterrupts();
  const child = spawn("/bin/sh", ["-c", command], { env: { ...DEFAULTS, ...env }, stdio: ["pipe", "inherit", "inherit"] });
  return isShown(child, text);
}

async function isShown(child: ChildProcess, text: string): Promise<boolean> {
  const ended = once(child, "close") as Promise<[number | null]>;
  // The person may quit before all is read.
  child.stdin?.on("error", () => undefined).end(text);
  const [code] = await ended;
  return code !== NOT_FOUND;
}
