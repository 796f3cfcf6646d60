import * as z from "zod";
import { absolutePath, time } from "./config-fields.ts";
import { DAY_MS } from "./units.ts";

/** Browsers in sandboxes. */
export function browserSchema() {
  return z
    .strictObject({
      path: absolutePath()
        .optional()
        .describe(
          "Program of Chromium inside sandboxes, where it is not Debian's `/usr/lib/chromium/chromium`. It is the browser itself, no script",
        ),
      idleMs: time(1_000, DAY_MS)
        .default(600_000)
        .describe("Time without a call after which the browser of a sandbox ends. Its cookies stay, and the next call starts it again"),
    })
    .prefault({});
}
