import { once } from "node:events";
import type { DriverOptions } from "../wire.ts";
import { launchChromium } from "./chromium.ts";
import { goTo } from "./go-to.ts";
import { browserFolders } from "./profile.ts";

const PAGE = "data:text/html,<title>rehearsal</title>";
const PAGE_MS = 5_000;

/**
 * Starts the browser, opens a page and ends it. What is left is a profile, and code that has run once: the next start takes a tenth less.
 * Rejects as that one would.
 */
export async function rehearse(options: DriverOptions): Promise<void> {
  const { context, child } = await launchChromium(options, browserFolders());
  const ended = once(child, "exit");
  try {
    const [page] = context.pages();
    if (page) await goTo(page, PAGE, { timeout: PAGE_MS });
  } finally {
    await context.close();
    await ended;
  }
}
