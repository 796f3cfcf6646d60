import type { Page } from "playwright-core";
import { TITLE_MAX } from "../actions/change-limits.ts";

/** Empty for a page that is going, or that has put something else in the place of its document's title, as `<form name="title">` does. */
export async function titleOf(page: Page): Promise<string> {
  const title: unknown = await page.title().catch(() => "");
  return typeof title === "string" ? title.slice(0, TITLE_MAX) : "";
}
