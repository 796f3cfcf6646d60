import * as z from "zod";
import { flag, policy, size, time } from "./config-fields.ts";
import { DAY_MS } from "./units.ts";

const MEBIBYTE = 2 ** 20;

/** What clients of E2B's API get. */
export function e2bSchema() {
  return z
    .strictObject({
      network: policy()
        .default("all")
        .describe(
          "Network policy of a sandbox that an E2B client made without saying anything: none, all (public addresses alone), or comma-separated rules",
        ),
      publicTraffic: flag()
        .optional()
        .describe(
          "Ports of E2B clients' sandboxes are open without a token unless the client forbids it. Default: only while this machine alone reaches the server",
        ),
      debug: flag()
        .default(false)
        .describe(
          "serve answers E2B's SDKs that run with E2B_DEBUG at the ports 49983 and 49999 of this machine, without a token and for one sandbox. For development",
        ),
      pausedRetention: time(60_000, 3650 * DAY_MS)
        .default(30 * DAY_MS)
        .describe("How long a sandbox stays that an E2B client paused"),
      volumeQuota: size(MEBIBYTE)
        .default(10_240 * MEBIBYTE)
        .describe(
          "Size of each new volume of an E2B client. Beyond it uploads and new mounts are refused. Programs in sandboxes that have the volume are not stopped",
        ),
    })
    .prefault({});
}
