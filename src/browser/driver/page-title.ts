import type { Page } from "playwright-core";
import { TITLE_MAX } from "../actions/change-limits.ts";

/** Empty for a page that is going. */
export async function titleOf(page: Page): Promise<string> {
  return (await page.title().catch(() => "")).slice(0, TITLE_MAX);
}
