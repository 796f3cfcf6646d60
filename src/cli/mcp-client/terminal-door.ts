import { spawn } from "node:child_process";
import { once } from "node:events";
import { platform } from "node:os";
import { createInterface } from "node:readline";
import { BelljarError } from "../../errors.ts";
import { openCallbackListener } from "../../mcp/client/oauth/callback-listener.ts";
import type { LoginReturn, OpenLoginDoor } from "../../mcp/client/oauth/login-door.ts";
import type { CommandContext } from "../command.ts";
import { printLine } from "../print.ts";

const PASTED_MAX = 16_384;

export interface DoorOptions {
  /** Opens the person's browser. Without it the address is printed alone. */
  readonly opensBrowser?: boolean;
}

/**
 * Logs a person in from a terminal: the browser comes back to a port of loopback, or the person pastes the address that it ended up at, or
 * the code alone. Whichever is first counts.
 */
export function openTerminalDoor(context: CommandContext, { opensBrowser = true }: DoorOptions = {}): OpenLoginDoor {
  return async (wish) => {
    const listener = await openCallbackListener(wish);
    return {
      redirectUrl: listener.redirectUrl,
      async authorize(address, signal) {
        const over = new AbortController();
        const until = AbortSignal.any([signal, over.signal, context.signal]);
        tell(context, wish.server, address);
        if (opensBrowser) openBrowser(address, context.env);
        const back = listener.back(address.searchParams.get("state"), until).then((query): LoginReturn => ({ kind: "redirect", query }));
        const pasted = readPasted(context, until);
        try {
          return await Promise.race([back, pasted]);
        } finally {
          over.abort();
          await Promise.allSettled([back, pasted]);
        }
      },
      [Symbol.asyncDispose]: () => listener[Symbol.asyncDispose](),
    };
  };
}

function tell({ stderr }: CommandContext, server: string, { href }: URL): void {
  printLine(stderr, `To log in to "${server}", open this address in a browser:\n\n${href}\n`);
  printLine(stderr, "If the browser cannot come back here, paste the address that it ends up at:");
}

/** Waits on once the input has ended: the browser may still come back. Lines that come at once are all read. */
async function readPasted({ stdin }: CommandContext, until: AbortSignal): Promise<LoginReturn> {
  const lines = createInterface({ input: stdin, terminal: false, signal: until });
  try {
    for await (const line of lines) {
      const found = line.length <= PASTED_MAX ? toReturn(line.trim()) : undefined;
      if (found) return found;
    }
  } finally {
    lines.close();
  }
  if (!until.aborted) await once(until, "abort");
  throw new BelljarError("CANCELLED", "The login was cancelled");
}

function toReturn(line: string): LoginReturn | undefined {
  if (/^https?:\/\//.test(line)) return URL.canParse(line) ? { kind: "redirect", query: new URL(line).searchParams } : undefined;
  return /^[\x21-\x7e]+$/.test(line) ? { kind: "code", code: line } : undefined;
}

/** Starts the person's browser where there is one to see. It is not waited for, and a failure is none: the address is printed too. */
function openBrowser({ href }: URL, env: CommandContext["env"]): void {
  const isMac = platform() === "darwin";
  if (!isMac && !env["DISPLAY"] && !env["WAYLAND_DISPLAY"] && !env["BROWSER"]) return;
  const child = spawn(isMac ? "open" : "xdg-open", [href], { stdio: "ignore", detached: true });
  child.on("error", () => undefined);
  child.unref();
}
