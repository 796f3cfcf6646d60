import { existsSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";
import type { BrowserContext } from "playwright-core";
import type { DriverOptions } from "../wire.ts";
import { DriverError } from "./driver-error.ts";
import { loadChromium } from "./playwright.ts";

const LAUNCH_MS = 30_000;
const VIEWPORT = { width: 1280, height: 720 };

/** Where the profile and what else is the browser's lies, in the home of the sandbox's user. */
export function browserFolder(): string {
  return join(homedir(), ".cache", "belljar-browser");
}

export async function launch({ executables, flags }: Pick<DriverOptions, "executables" | "flags">): Promise<BrowserContext> {
  const executablePath = executables.find((path) => existsSync(path));
  if (executablePath === undefined) {
    throw new DriverError(
      "BROWSER_UNAVAILABLE",
      `This sandbox has no Chromium (${executables.join(", ")}): install the package chromium where its template is made, or name one with browser.path`,
    );
  }
  const profile = join(browserFolder(), "profile");
  await mkdir(profile, { recursive: true, mode: 0o700 });
  return loadChromium().launchPersistentContext(profile, {
    executablePath,
    args: [...flags],
    headless: true,
    timeout: LAUNCH_MS,
    viewport: VIEWPORT,
    handleSIGINT: false,
    handleSIGTERM: false,
    handleSIGHUP: false,
  });
}
