import { settleWithin } from "../async/settle-within.ts";
import { BelljarError } from "../errors.ts";
import { INSIDE, type KeptProcess, type Sandbox } from "../sandbox/sandbox.ts";
import { DriverConnection } from "./driver-connection.ts";
import { DriverReader } from "./driver-reader.ts";
import { BROWSER_MEMORY_MIN_BYTES } from "./needed-memory.ts";
import type { DriverOptions } from "./wire.ts";

/** Where Debian has it. Its wrapper in /usr/bin reads /etc/chromium.d, which a template need not have. */
const DEBIAN = "/usr/lib/chromium/chromium";
/** The kept command of a sandbox that is its browser: of several Belljar processes one has it. */
const NAME = "browser";
const MIB = 1_048_576;
const SIGKILL = 9;
const REST_MS = 60_000;
const TAKE_MS = 2_000;
const CLEAR_MS = 5_000;
/** To start a browser, show a page and end it, on a busy host. */
const READY_MS = 60_000;

type Place = Pick<Sandbox, "guest" | "info" | "isPaused" | "environment">;

export interface StartOptions {
  readonly path?: string | undefined;
  readonly idleMs: number;
  /** Default: a minute. */
  readonly restMs?: number | undefined;
  /** Default: that of a sandbox. */
  readonly network?: DriverOptions["network"] | undefined;
  /** Aborting gives the start up. */
  readonly signal: AbortSignal;
}

/** Starts the driver, and with it the browser. Resolves once Chromium runs. Rejects with `BROWSER_UNAVAILABLE` where none can run. */
export async function startDriver(sandbox: Place, options: StartOptions): Promise<DriverConnection> {
  await assertMemory(sandbox);
  const { driver, hasWaited } = await open(sandbox, options);
  try {
    await driver.ready;
    return driver;
  } catch (cause) {
    if (!hasWaited || options.signal.aborted) throw cause;
  }
  // It had ended while it waited, as with all programs of its user.
  await driver.gone;
  return startDriver(sandbox, options);
}

interface Opened {
  readonly driver: DriverConnection;
  readonly hasWaited: boolean;
}

function driverOptions({ path, restMs = REST_MS, network = "sandbox" }: Pick<StartOptions, "path" | "restMs" | "network">): DriverOptions {
  return { executables: path === undefined ? [DEBIAN] : [path, DEBIAN], restMs, network };
}

async function open(sandbox: Place, { idleMs, signal, ...how }: StartOptions): Promise<Opened> {
  const { guest } = sandbox;
  const options = driverOptions(how);
  const env = await sandbox.environment();
  const { process, hasWaited } = await keep(guest, options);
  const clear = async (pid: number): Promise<void> => {
    const how = { group: true, signal: AbortSignal.timeout(CLEAR_MS) };
    // Nothing is left of it, or the sandbox has ended.
    await guest.signalProcess(pid, SIGKILL, how).catch(() => undefined);
  };
  const driver = new DriverConnection(process, {
    idleMs,
    isPaused: () => sandbox.isPaused?.() ?? false,
    clear,
    ...(hasWaited && { start: { options, env } }),
  });
  const giveUp = (): void => void driver.close();
  signal.addEventListener("abort", giveUp, { once: true });
  void driver.gone.then(() => signal.removeEventListener("abort", giveUp));
  return { driver, hasWaited };
}

/**
 * Starts a driver that waits, without a browser: the first call that wants one has it the sooner. Resolves when it waits. A sandbox whose
 * template has no Node has none. Rejects with `BROWSER_FAILED`.
 */
export async function warmDriver({ guest }: Pick<Place, "guest">, how: Pick<StartOptions, "path">, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  const process = await startProcess(guest, [JSON.stringify(driverOptions(how)), "--wait"]).catch((cause: unknown) => {
    if (isCode(cause, "COMMAND_NOT_FOUND")) return undefined;
    throw cause;
  });
  if (!process) return;
  if ((await settleWithin(saysWaiting(process), { timeoutMs: READY_MS, signal })) === true) return process.detach();
  process.kill(SIGKILL);
  await process[Symbol.asyncDispose]();
  signal.throwIfAborted();
  throw new BelljarError("BROWSER_FAILED", `The browser's driver did not wait within ${READY_MS} ms`);
}

async function saysWaiting(process: KeptProcess): Promise<boolean> {
  const [channel] = process.channels;
  for (const stream of [process.stdout, process.stderr]) stream.resume();
  const reader = new DriverReader();
  const said = new Promise<boolean>((resolve) =>
    channel?.on("data", (chunk: Buffer) => {
      try {
        for (const { message } of reader.push(chunk)) resolve(message.type === "waiting");
      } catch {
        // It is no driver of ours.
        resolve(false);
      }
    }),
  );
  const ended = process.exited.then(
    () => false,
    () => false,
  );
  return Promise.race([said, ended]);
}

interface Kept {
  readonly process: KeptProcess;
  /** It has no browser yet. */
  readonly hasWaited: boolean;
}

/** One that waits, a new one, or a new one in the place of what a Belljar process left that has died, or that has ended just now. */
async function keep(guest: Sandbox["guest"], options: DriverOptions): Promise<Kept> {
  const start = async (): Promise<Kept> => ({
    process: await startProcess(guest, [JSON.stringify(options)]),
    hasWaited: false,
  });
  try {
    return await start();
  } catch (cause) {
    if (isCode(cause, "COMMAND_NOT_FOUND")) throw withoutNode(cause);
    if (!isCode(cause, "FILE_EXISTS")) throw cause;
  }
  const left = await take(guest);
  // Only one that waits is ever let go of.
  if (left && !left.wasCut) return { process: left, hasWaited: true };
  if (left) await end(left);
  return start();
}

/** It outlives whoever has it started. */
function startProcess(guest: Sandbox["guest"], args: readonly string[]): Promise<KeptProcess> {
  const argv = ["node", `${INSIDE.kernels}/browser-driver.mjs`, ...args];
  return guest.keep(NAME, { argv, channels: 1, signal: new AbortController().signal });
}

async function end(left: KeptProcess): Promise<void> {
  for (const stream of [left.stdout, left.stderr, ...left.channels]) stream.resume();
  left.kill(SIGKILL);
  await settleWithin(left.exited, { timeoutMs: CLEAR_MS });
  await left[Symbol.asyncDispose]();
}

/** One that is held is left alone: rejects with `BROWSER_UNAVAILABLE`. */
async function take(guest: Sandbox["guest"]): Promise<KeptProcess | undefined> {
  const waiting = new AbortController();
  const timer = setTimeout(() => waiting.abort(), TAKE_MS);
  try {
    return await guest.attach(NAME, waiting.signal);
  } catch (cause) {
    if (isCode(cause, "PROCESS_NOT_FOUND")) return undefined;
    if (waiting.signal.aborted) throw heldElsewhere(cause);
    throw cause;
  } finally {
    clearTimeout(timer);
  }
}

async function assertMemory(sandbox: Place): Promise<void> {
  const { memoryBytes } = (await sandbox.info()).limits;
  if (memoryBytes === undefined || memoryBytes >= BROWSER_MEMORY_MIN_BYTES) return;
  throw new BelljarError(
    "BROWSER_UNAVAILABLE",
    `A browser needs a sandbox with at least 512 MB of memory, and this one has ${Math.floor(memoryBytes / MIB)} MB; use one that was made with a larger memory limit`,
  );
}

function isCode(error: unknown, code: BelljarError["code"]): error is BelljarError {
  return error instanceof BelljarError && error.code === code;
}

function withoutNode(cause: unknown): BelljarError {
  const text = "The browser's driver needs Node.js, which this sandbox has not; use a template that has the command node, 20 or later";
  return new BelljarError("BROWSER_UNAVAILABLE", text, { cause });
}

function heldElsewhere(cause: unknown): BelljarError {
  const text =
    "Another Belljar process drives this sandbox's browser, which ends once it is idle there; ask that one, or use another sandbox";
  return new BelljarError("BROWSER_UNAVAILABLE", text, { cause });
}
