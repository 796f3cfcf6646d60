import { Socket } from "node:net";
import type { DriverOptions } from "../wire.ts";
import { Channel } from "./channel.ts";
import { writeCodeCache } from "./load-playwright.ts";
import { serve } from "./serve.ts";

/**
 * Runs inside a sandbox as its user. Belljar asks it over file descriptor 3, it drives Chromium over a pipe, and nobody else can reach either.
 * It ends with its channel, and Chromium with it. With `--write-code-cache` it prepares itself, which the build does.
 */
const [, , argument = "{}"] = process.argv;
if (argument === "--write-code-cache") writeCodeCache();
else await drive(JSON.parse(argument) as DriverOptions);

async function drive(options: DriverOptions): Promise<void> {
  // What a page does must not end it: playwright's own promises may reject when nobody waits for them any more.
  process.on("unhandledRejection", (error) => void process.stderr.write(`${String(error)}\n`));
  const channel = new Channel(new Socket({ fd: 3, readable: true, writable: true }), () => process.exit(0));
  await serve(channel, options);
}
