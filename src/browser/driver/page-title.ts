import { TITLE_MAX } from "../actions/change-limits.ts";
import type { Tab } from "./tab.ts";

/** As the page says it: its own scripts may have put something else in its place. */
const TITLE = `String(document.title).slice(0, ${TITLE_MAX})`;

/** Empty for a page that is going. Playwright's own way costs 20 ms more of a page that is new, for a world and a program of its own in there. */
export async function titleOf(tab: Pick<Tab, "cdp">): Promise<string> {
  try {
    const cdp = await tab.cdp();
    const { result } = await cdp.send("Runtime.evaluate", { expression: TITLE, returnByValue: true });
    return typeof result.value === "string" ? result.value.slice(0, TITLE_MAX) : "";
  } catch {
    return "";
  }
}
