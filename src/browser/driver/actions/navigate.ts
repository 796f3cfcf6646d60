import type { Page, Response } from "playwright-core";
import type { NavigateArgs, NavigateValue } from "../../actions/navigate.ts";
import { DriverError } from "../driver-error.ts";
import { goTo } from "../go-to.ts";
import { defineHandler } from "../handler.ts";
import { act, type How } from "./act.ts";

const NAVIGATE_MS = 8_000;
const NAVIGATE_MAX_MS = 47_000;

export const navigate = defineHandler<NavigateArgs, NavigateValue>({
  name: "navigate",
  async run(tab, args, call) {
    const timeout = Math.min(args.timeout_ms ?? NAVIGATE_MS, NAVIGATE_MAX_MS);
    let response: Response | null | undefined;
    const { value } = await act(tab, call, async ({ signal }) => (response = await go(tab.page, args, { timeout, signal })), {
      leaves: true,
    });
    const status = response?.status();
    return { value: { ...value, ...(status !== undefined && { status }) } };
  },
});

/** Until the new document is there: whether it is whole is told with what changed, for some never are. */
async function go(page: Page, { url, go: where }: NavigateArgs, limits: How): Promise<Response | null> {
  const how = { waitUntil: "commit" as const, ...limits };
  try {
    if (url !== undefined) return await goTo(page, url, limits);
    if (where === "reload") return await page.reload(how);
    return await (where === "back" ? page.goBack(how) : page.goForward(how));
  } catch (error) {
    if (error instanceof Error && error.message.includes("Download is starting")) return null;
    if (error instanceof Error && error.name === "TimeoutError") {
      throw new DriverError("NAVIGATION_FAILED", `No page came within ${limits.timeout} ms`);
    }
    throw error;
  }
}
