import type { Page, Response } from "playwright-core";
import { DriverError, toFailure } from "./driver-error.ts";

/** The page of a navigation that has failed comes a moment after the failure, and would break off the one that comes then. */
const ERROR_PAGE = "chrome-error://chromewebdata/";

/** Opens the address, and resolves once the document is there. Rejects with `NAVIGATION_FAILED`. */
export async function goTo(page: Page, url: string): Promise<Response | null> {
  try {
    return await page.goto(url, { waitUntil: "load", timeout: 0 }).catch((error: unknown) => {
      if (!toFailure(error).message.includes(`interrupted by another navigation to "${ERROR_PAGE}"`)) throw error;
      return page.goto(url, { waitUntil: "load", timeout: 0 });
    });
  } catch (error) {
    throw new DriverError("NAVIGATION_FAILED", toFailure(error).message, { cause: error });
  }
}
