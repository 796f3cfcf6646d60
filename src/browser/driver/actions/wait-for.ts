import type { ChangeFacts } from "../../actions/change.ts";
import type { WaitForArgs } from "../../actions/wait-for.ts";
import { defineHandler } from "../handler.ts";
import { DriverError } from "../driver-error.ts";
import type { Tab } from "../tab.ts";
import { settleWithin } from "../../../async/settle-within.ts";
import { act, ACT_MS, type How } from "./act.ts";

/** So that the reason comes before the longest deadline. */
const WAIT_MAX_MS = 47_000;

export const waitFor = defineHandler<WaitForArgs, ChangeFacts>({
  name: "wait_for",
  run: (tab, args, call) =>
    act(tab, call, async ({ signal }) => {
      const timeout = Math.min(args.timeout_ms ?? ACT_MS, WAIT_MAX_MS);
      try {
        await waitUntil(tab, args, { timeout, signal });
      } catch (error) {
        if (!(error instanceof Error) || error.name !== "TimeoutError") throw error;
        throw new DriverError("ACTION_TIMEOUT", `It did not come within ${timeout} ms. browser_snapshot shows what the page is now`);
      }
    }),
});

async function waitUntil({ page }: Tab, { text, text_gone: gone, selector, url }: WaitForArgs, how: How): Promise<void> {
  const waits = [
    ...(text === undefined ? [] : [anyFrame({ page }, (frame) => frame.getByText(text).first().waitFor(how))]),
    ...(gone === undefined
      ? []
      : [
          page
            .getByText(gone)
            .first()
            .waitFor({ state: "hidden", ...how }),
        ]),
    ...(selector === undefined ? [] : [page.locator(selector).first().waitFor(how)]),
    ...(url === undefined ? [] : [page.waitForURL(url, { waitUntil: "commit", ...how })]),
  ];
  if (waits.length > 0) await Promise.all(waits);
  // Some pages are never quiet.
  else await settleWithin(page.waitForLoadState("networkidle", { timeout: 0, signal: how.signal }), { timeoutMs: how.timeout });
}

/** Whichever frame has it first; its error is that of the main frame. */
async function anyFrame({ page }: Pick<Tab, "page">, wait: (frame: ReturnType<Tab["page"]["mainFrame"]>) => Promise<void>): Promise<void> {
  const waits = page.frames().map(wait);
  try {
    await Promise.any(waits);
  } catch {
    await waits[0];
  }
}
