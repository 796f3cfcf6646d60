import { readFileSync, writeFileSync } from "node:fs";
import { Socket } from "node:net";
import type { DriverOptions } from "../wire.ts";
import { Channel } from "./channel.ts";
import { loadPlaywright, writeCodeCache } from "./load-playwright.ts";
import { serve } from "./serve.ts";

/**
 * Runs inside a sandbox as its user. Belljar asks it over file descriptor 3, it drives Chromium over a pipe, and nobody else can reach either.
 * It ends with its channel, and Chromium with it. Without an argument it makes itself ready, and waits for what it is to start. With
 * `--write-code-cache` it prepares itself, which the build does.
 */
const [, , argument] = process.argv;
if (argument === "--write-code-cache") writeCodeCache();
else await drive();

async function drive(): Promise<void> {
  outliveRenderers();
  // What a page does must not end it: playwright's own promises may reject when nobody waits for them any more.
  process.on("unhandledRejection", (error) => void process.stderr.write(`${String(error)}\n`));
  const channel = new Channel(new Socket({ fd: 3, readable: true, writable: true }), () => process.exit(0));
  const options = argument === undefined ? await awaitStart(channel) : (JSON.parse(argument) as DriverOptions);
  await serve(channel, options);
}

/**
 * The guest has the kernel end its commands before itself when memory is out. Chromium gives its renderers a fixed score, which is lower than
 * that of a command: the driver would go first, and all tabs with it. A score may fall to that of the parent, and Chromium inherits this one.
 */
function outliveRenderers(): void {
  writeFileSync("/proc/self/oom_score_adj", readFileSync(`/proc/${process.ppid}/oom_score_adj`));
}

/** Of Node and playwright nothing is left to load when a browser is wanted. */
async function awaitStart(channel: Channel): Promise<DriverOptions> {
  loadPlaywright();
  await channel.send({ type: "waiting" });
  const message = await channel.next();
  if (message.type !== "start") process.exit(0);
  // Its sandbox had no owner when it was started, and has the variables of one now.
  Object.assign(process.env, message.env);
  return message.options;
}
