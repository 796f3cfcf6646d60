import type { ChildProcess } from "node:child_process";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";
import type { Duplex } from "node:stream";
import { BelljarError } from "../../errors.ts";
import { connectSocket } from "../guest/open-socket.ts";

const START_MS = 10_000;
const END_MS = 10_000;

export interface UnjailedOptions {
  readonly binary: string;
  /** A short 0700 folder, for the socket. */
  readonly runtimeDirectory: string;
  readonly startFolder: string;
  /** The account that runs all commands: that of this process. */
  readonly user: string;
}

/**
 * The guest on this machine as it is. Disposing it kills all that was started through it. It ends with this process too, however that ends: it
 * reads the end of its standard input.
 */
export class UnjailedGuest implements AsyncDisposable {
  readonly #folder: string;
  readonly #child: ChildProcess;
  /** Settles once, when it is gone. */
  readonly exited: Promise<void>;

  private constructor(folder: string, child: ChildProcess) {
    this.#folder = folder;
    this.#child = child;
    this.exited = new Promise((resolve) => child.once("close", () => resolve()).once("error", () => resolve()));
  }

  /** Rejects with `RUNTIME_FAILED`. */
  static async start({ binary, runtimeDirectory, startFolder, user }: UnjailedOptions): Promise<UnjailedGuest> {
    const folder = await mkdtemp(join(runtimeDirectory, "host-"));
    const argv = ["unjailed", join(folder, "guest"), join(folder, "services"), startFolder, user];
    const child = spawn(binary, argv, { stdio: ["pipe", "pipe", "inherit"], env: { PATH: "/usr/bin:/bin" }, detached: true });
    const guest = new UnjailedGuest(folder, child);
    const started = once(child.stdout, "data", { signal: AbortSignal.timeout(START_MS) });
    const isUp = await Promise.race([started.then(() => true), guest.exited.then(() => false)]).catch(() => false);
    if (isUp) return guest;
    await guest[Symbol.asyncDispose]();
    throw new BelljarError("RUNTIME_FAILED", "The process that serves this machine did not start: see what it printed above");
  }

  connect(signal: AbortSignal): Promise<Duplex> {
    const path = join(this.#folder, "guest");
    return connectSocket({ path, pausedPath: `${path}.paused`, signal });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#child.stdin?.destroy();
    const late = setTimeout(() => this.#child.kill("SIGKILL"), END_MS);
    await this.exited;
    clearTimeout(late);
    await rm(this.#folder, { recursive: true, force: true });
  }
}
