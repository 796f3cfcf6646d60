import { settleWithin } from "../async/settle-within.ts";
import { BelljarError } from "../errors.ts";
import { INSIDE, type KeptProcess, type Sandbox } from "../sandbox/sandbox.ts";
import { DriverConnection } from "./driver-connection.ts";
import type { DriverOptions } from "./wire.ts";

/** Where Debian has it. Its wrapper in /usr/bin reads /etc/chromium.d, which a template need not have. */
const DEBIAN = "/usr/lib/chromium/chromium";
/** The kept command of a sandbox that is its browser: of several Belljar processes one has it. */
const NAME = "browser";
const MIB = 1_048_576;
const MEMORY_MIN_BYTES = 512 * MIB;
const SIGKILL = 9;
const REST_MS = 60_000;
const TAKE_MS = 2_000;
const CLEAR_MS = 5_000;

type Place = Pick<Sandbox, "guest" | "info" | "isPaused">;

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
export async function startDriver(
  sandbox: Place,
  { path, idleMs, restMs = REST_MS, network = "sandbox", signal }: StartOptions,
): Promise<DriverConnection> {
  await assertMemory(sandbox);
  const { guest } = sandbox;
  const executables = path === undefined ? [DEBIAN] : [path, DEBIAN];
  const process = await keep(guest, { executables, restMs, network });
  const clear = async (pid: number): Promise<void> => {
    const options = { group: true, signal: AbortSignal.timeout(CLEAR_MS) };
    // Nothing is left of it, or the sandbox has ended.
    await guest.signalProcess(pid, SIGKILL, options).catch(() => undefined);
  };
  const driver = new DriverConnection(process, { idleMs, isPaused: () => sandbox.isPaused?.() ?? false, clear });
  const giveUp = (): void => void driver.close();
  signal.addEventListener("abort", giveUp, { once: true });
  void driver.gone.then(() => signal.removeEventListener("abort", giveUp));
  await driver.ready;
  return driver;
}

async function keep(guest: Sandbox["guest"], options: DriverOptions): Promise<KeptProcess> {
  const argv = ["node", `${INSIDE.kernels}/browser-driver.mjs`, JSON.stringify(options)];
  const start = () => guest.keep(NAME, { argv, channels: 1, signal: new AbortController().signal });
  try {
    return await start();
  } catch (cause) {
    if (isCode(cause, "COMMAND_NOT_FOUND")) throw withoutNode(cause);
    if (!isCode(cause, "FILE_EXISTS")) throw cause;
  }
  await endLeft(guest);
  return start();
}

/** The browser of a Belljar process that has died, or that has ended just now. One that is held is left alone. */
async function endLeft(guest: Sandbox["guest"]): Promise<void> {
  const left = await take(guest);
  if (!left) return;
  for (const stream of [left.stdout, left.stderr, ...left.channels]) stream.resume();
  left.kill(SIGKILL);
  await settleWithin(left.exited, { timeoutMs: CLEAR_MS });
  await left[Symbol.asyncDispose]();
}

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
  if (memoryBytes === undefined || memoryBytes >= MEMORY_MIN_BYTES) return;
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
