import { BelljarError } from "../errors.ts";
import { INSIDE, type Sandbox } from "../sandbox/sandbox.ts";
import { DriverConnection } from "./driver-connection.ts";
import { FLAGS } from "./flags.ts";
import type { DriverOptions } from "./wire.ts";

/** Where Debian has it. Its wrapper in /usr/bin reads /etc/chromium.d, which a template need not have. */
const DEBIAN = "/usr/lib/chromium/chromium";

export interface StartOptions {
  readonly path?: string | undefined;
  readonly idleMs: number;
  /** Aborting ends the driver. */
  readonly signal: AbortSignal;
}

/** Starts the driver, and with it the browser. Resolves once Chromium runs. */
export async function startDriver({ guest }: Pick<Sandbox, "guest">, { path, idleMs, signal }: StartOptions): Promise<DriverConnection> {
  const options: DriverOptions = {
    executables: path === undefined ? [DEBIAN] : [DEBIAN, path],
    idleMs,
    flags: FLAGS.map(({ flag }) => flag),
  };
  const argv = ["node", `${INSIDE.kernels}/browser-driver.mjs`, JSON.stringify(options)];
  const process = await guest.exec({ argv, channels: 1, stdin: false, signal });
  const driver = new DriverConnection(process);
  try {
    await driver.ready;
  } catch (cause) {
    await driver.close();
    throw cause instanceof BelljarError ? cause : new BelljarError("BROWSER_FAILED", "The browser did not start", { cause });
  }
  return driver;
}
