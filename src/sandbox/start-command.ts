import { setTimeout as wait } from "node:timers/promises";
import { settleWithin } from "../async/settle-within.ts";
import { BelljarError } from "../errors.ts";
import { printableText } from "../files/printable.ts";
import type { ExecExit, Guest } from "../runtime/guest/guest.ts";
import type { StartCommand } from "./wire/start-command.ts";

type StartGuest = Pick<Guest, "keep" | "run" | "dial" | "files">;

/** Of the kept command. */
const NAME = "start";
/** Inside. A later run begins it anew. */
export const START_LOG = "/tmp/belljar-start.log";
const RUN = `exec >${START_LOG} 2>&1 </dev/null; eval "$1"`;
/** Not every `sleep` takes a fraction. */
const UNTIL = 'until (eval "$1"); do sleep 0.1 || sleep 1; done >/dev/null 2>&1 </dev/null';
const READY_MS = 60_000;
const DIAL_EVERY_MS = 50;
const SHOWN_BYTES = 2_000;
const LOG_MS = 2_000;

/** As `findStartFailure`. Rejects with `START_FAILED`, which has the end of what the command printed, too. */
export async function runStartCommand(guest: StartGuest, start: StartCommand, signal: AbortSignal): Promise<void> {
  const failure = await findStartFailure(guest, start, signal);
  if (failure !== undefined) throw await toFailure(guest, failure);
}

/**
 * Runs the start command of a sandbox, in the background, and waits until what it starts is ready, or says how it failed. An end with exit
 * code 0 is none: it may have started a daemon. Rejects with the signal's reason, `START_FAILED` without a shell, or the sandbox's error.
 */
export async function findStartFailure(guest: StartGuest, start: StartCommand, signal: AbortSignal): Promise<string | undefined> {
  const { readyTimeoutMs: timeoutMs = READY_MS } = start;
  const process = await begin(guest, start.command);
  for (const stream of [process.stdout, process.stderr]) stream.resume();
  const asking = new AbortController();
  const failed = process.exited.then((exit) => toEnd(exit));
  const ready = isReady(guest, start, asking.signal);
  const outcome = await settleWithin(Promise.race([ready, failed]), { timeoutMs, signal }).finally(() => {
    asking.abort();
    process.detach();
    for (const promise of [ready, failed]) promise.catch(() => undefined);
  });
  signal.throwIfAborted();
  if (outcome === "ready") return undefined;
  return outcome === "late" ? `was not ready within ${timeoutMs} ms` : outcome;
}

/** No signal: what has begun goes on whatever becomes of the caller. */
async function begin(guest: StartGuest, command: string): ReturnType<Guest["keep"]> {
  try {
    return await guest.keep(NAME, { argv: ["/bin/sh", "-c", RUN, NAME, command], signal: new AbortController().signal });
  } catch (cause) {
    if (!(cause instanceof BelljarError) || cause.code !== "COMMAND_NOT_FOUND") throw cause;
    throw new BelljarError("START_FAILED", "The start command needs /bin/sh, which this template has not", { cause });
  }
}

/** `ready`, or why it never will be. */
async function isReady({ run, dial }: StartGuest, { ready, readyPort }: StartCommand, signal: AbortSignal): Promise<string> {
  if (readyPort !== undefined) await untilListening(dial, readyPort, signal);
  if (ready === undefined) return "ready";
  const { exitCode } = await run({ argv: ["/bin/sh", "-c", UNTIL, NAME, ready], maxOutputBytes: 0, signal });
  return exitCode === 0 ? "ready" : `has a check for its readiness that cannot run (exit code ${exitCode ?? "none"})`;
}

async function untilListening(dial: Guest["dial"], port: number, signal: AbortSignal): Promise<void> {
  for (;;) {
    try {
      return void (await dial(port, signal)).destroy();
    } catch (cause) {
      if (!(cause instanceof BelljarError) || cause.code !== "PORT_REFUSED") throw cause;
      await wait(DIAL_EVERY_MS, undefined, { signal });
    }
  }
}

async function toEnd({ exitCode, signal }: ExecExit): Promise<string> {
  if (exitCode === 0) return new Promise<never>(() => undefined);
  return `ended with ${signal ?? `exit code ${exitCode}`}`;
}

/** The log is whatever the sandbox makes of it. */
async function toFailure({ files }: StartGuest, what: string): Promise<BelljarError> {
  const signal = AbortSignal.timeout(LOG_MS);
  const log = await readEnd(files, signal).catch(() => "");
  const said = log === "" ? "It printed nothing" : `The end of ${START_LOG}:\n${log}`;
  return new BelljarError("START_FAILED", `The start command of this template ${what}. ${said}`);
}

async function readEnd(files: StartGuest["files"], signal: AbortSignal): Promise<string> {
  const { size } = await files.stat(START_LOG, { signal });
  const end = await files.read(START_LOG, { offset: Math.max(0, size - SHOWN_BYTES), limit: SHOWN_BYTES, signal });
  return printableText(end.toString()).trim();
}
