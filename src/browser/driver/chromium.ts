import type { ChildProcess } from "node:child_process";
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { hostname } from "node:os";
import type { BrowserContext } from "playwright-core";
import { openOnce } from "../../async/open-once.ts";
import { commandLine } from "../flags.ts";
import type { DriverOptions } from "../wire.ts";
import { DriverError } from "./driver-error.ts";
import { loadPlaywright } from "./load-playwright.ts";
import { registerEyes } from "./page-eyes.ts";
import { prepareProfile, type BrowserFolders } from "./profile.ts";
import { VIEWPORT } from "./viewport.ts";

const LAUNCH_MS = 30_000;
const STDERR_MAX = 2_000;

export interface Launched {
  readonly context: BrowserContext;
  readonly child: ChildProcess;
}

/**
 * Starts Chromium, and loads playwright meanwhile: each takes about as long. So the process is made here, with a command line of ours alone, and
 * playwright is given it when it would make one.
 */
export async function launchChromium({ executables, network }: DriverOptions, folders: BrowserFolders): Promise<Launched> {
  const executable = executables.find((path) => existsSync(path));
  if (executable === undefined) throw unavailable(executables);
  prepareProfile(folders);
  const args = commandLine({ profile: folders.profile, hostName: hostname(), network });
  // Of the driver's own process group, which the guest kills as one.
  const child = spawn(executable, args, { stdio: ["ignore", "pipe", "pipe", "pipe", "pipe"] });
  const died = diesEarly(child);
  const chromium = await loadChromiumType();
  const restore = adopt(child);
  try {
    const launched = chromium.launchPersistentContext(folders.profile, {
      executablePath: executable,
      args: [...args],
      ignoreDefaultArgs: true,
      timeout: LAUNCH_MS,
      viewport: VIEWPORT,
      downloadsPath: folders.unfinished,
      handleSIGINT: false,
      handleSIGTERM: false,
      handleSIGHUP: false,
    });
    return { context: await Promise.race([launched, died.promise]), child };
  } finally {
    restore();
    died.forget();
  }
}

/** Takes a good part of the first start. */
const loadChromiumType = openOnce(async () => {
  const { chromium, selectors } = loadPlaywright();
  await registerEyes(selectors, new URL("browser-eyes.js", import.meta.url));
  return chromium;
});

/** The next program that somebody starts is this one. */
function adopt(child: ChildProcess): () => void {
  const module = createRequire(import.meta.url)("node:child_process") as { spawn: unknown };
  const own = module.spawn;
  module.spawn = () => child;
  return () => void (module.spawn = own);
}

function diesEarly(child: ChildProcess): { readonly promise: Promise<never>; forget(): void } {
  let said = "";
  const hear = (chunk: Buffer): void => void (said = (said + chunk.toString()).slice(-STDERR_MAX));
  child.stderr?.on("data", hear);
  let reject: (error: DriverError) => void = () => undefined;
  const promise = new Promise<never>((_, fail) => (reject = fail));
  promise.catch(() => undefined);
  const end = (): void => reject(new DriverError("BROWSER_UNAVAILABLE", `Chromium could not start: ${said.trim()}`));
  child.once("error", end).once("exit", end);
  return { promise, forget: () => void child.off("error", end).off("exit", end).stderr?.off("data", hear) };
}

function unavailable(executables: readonly string[]): DriverError {
  const where = executables.join(", ");
  return new DriverError(
    "BROWSER_UNAVAILABLE",
    `This sandbox has no Chromium (${where}). Install the package chromium on the machine or in the image that its template is made of, or name another one with the setting browser.path`,
  );
}
