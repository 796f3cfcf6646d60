import { settleWithin } from "../../async/settle-within.ts";
import type { ErrorCode } from "../../errors.ts";
import { BelljarError } from "../../errors.ts";
import type { KeptProcess, Sandbox } from "../../sandbox/sandbox.ts";
import type { Kernel } from "./kernel.ts";

/** The kept commands of a sandbox whose names begin so are its contexts. */
export const CONTEXT_PREFIX = "context-";
const SIGKILL = 9;
const KILL_MS = 5_000;

export interface NamedContext {
  readonly id: string;
  readonly kernel: Kernel;
}

type WithGuest = Pick<Sandbox, "guest">;

export interface Patience {
  readonly signal: AbortSignal;
  /** The longest wait for the runs before. */
  readonly waitMs: number;
}

/** The caller may give up while it waits in line. Later its code is interrupted, and the stream is not cut. */
export async function attach(sandbox: WithGuest, id: string, { signal, waitMs }: Patience): Promise<KeptProcess> {
  const waiting = new AbortController();
  const giveUp = (): void => waiting.abort(signal.reason);
  const tooLong = new BelljarError("EXEC_TIMEOUT", `The context "${id}" was busy for ${waitMs} ms; interrupt it, or use another one`);
  const timer = setTimeout(() => waiting.abort(tooLong), waitMs);
  signal.addEventListener("abort", giveUp, { once: true });
  if (signal.aborted) giveUp();
  try {
    return await sandbox.guest.attach(`${CONTEXT_PREFIX}${id}`, waiting.signal);
  } catch (error) {
    if (waiting.signal.reason === tooLong) throw tooLong;
    throw error;
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", giveUp);
  }
}

/** Rejects with `COMMAND_NOT_FOUND` if the template lacks the language, and with `FILE_EXISTS` if the context is there. */
export async function start(
  sandbox: WithGuest,
  { id, kernel }: NamedContext,
  { cwd }: { readonly cwd?: string | undefined },
): Promise<KeptProcess> {
  const { argv, env, opening } = kernel;
  const signal = new AbortController().signal;
  const process = await sandbox.guest.keep(`${CONTEXT_PREFIX}${id}`, {
    argv,
    channels: 1,
    signal,
    ...(env && { env }),
    ...(cwd !== undefined && { cwd }),
  });
  if (opening !== undefined) process.channels[0]?.write(opening);
  return process;
}

/** Ends what still runs, and takes its exit, so that the name is free. */
export async function takeExit(sandbox: WithGuest, id: string, signal: AbortSignal): Promise<void> {
  const process = await unless("PROCESS_NOT_FOUND", attach(sandbox, id, { signal, waitMs: KILL_MS }));
  if (!process) return;
  for (const stream of [process.stdout, process.stderr, ...process.channels]) stream.resume();
  process.kill(SIGKILL);
  await settleWithin(process.exited, { timeoutMs: KILL_MS, signal });
  await process[Symbol.asyncDispose]();
}

/** False: it is paused, and stays so. A guest that does not answer ends the wait by the host's own deadline. */
export async function isAwake(sandbox: Sandbox): Promise<boolean> {
  try {
    await sandbox.guest.ping(new AbortController().signal);
    return true;
  } catch (error) {
    if (!(error instanceof BelljarError)) throw error;
    return error.code !== "SANDBOX_PAUSED";
  }
}

export async function signalGroup(
  sandbox: Sandbox,
  { pid, signalNumber, signal }: { readonly pid: number; readonly signalNumber: number; readonly signal: AbortSignal },
): Promise<void> {
  await unless("PROCESS_NOT_FOUND", sandbox.guest.signalProcess(pid, signalNumber, { group: true, signal }));
}

/** Undefined instead of an error of that code. */
export async function unless<T>(code: ErrorCode, promise: Promise<T>): Promise<T | undefined> {
  try {
    return await promise;
  } catch (error) {
    if (isCode(error, code)) return undefined;
    throw error;
  }
}

function isCode(error: unknown, code: ErrorCode): boolean {
  return error instanceof BelljarError && error.code === code;
}
