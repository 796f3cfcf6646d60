import { BelljarError } from "../../errors.ts";
import type { BrowserSource } from "./browser-call.ts";

/** Where no browser is started. */
export const noBrowsers: BrowserSource = {
  of: () => ({
    call: () =>
      Promise.reject(new BelljarError("BROWSER_UNAVAILABLE", "This process starts no browsers: use `belljar serve` or `belljar mcp`")),
  }),
};
