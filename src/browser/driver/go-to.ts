import type { Page, Response } from "playwright-core";
import { toFailure } from "./driver-error.ts";

/** The page of a navigation that has failed comes a moment after the failure, and would break off the one that comes then. */
const ERROR_PAGE = "chrome-error://chromewebdata/";

/** Opens the address, and resolves once its document begins. */
export async function goTo(
  page: Page,
  url: string,
  limits: { readonly timeout: number; readonly signal?: AbortSignal },
): Promise<Response | null> {
  const how = { waitUntil: "commit", ...limits } as const;
  return page.goto(url, how).catch((error: unknown) => {
    if (!toFailure(error).message.includes(`interrupted by another navigation to "${ERROR_PAGE}"`)) throw error;
    return page.goto(url, how);
  });
}
