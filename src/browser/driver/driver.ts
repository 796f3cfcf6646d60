import { readFileSync, writeFileSync } from "node:fs";
import { Socket } from "node:net";
import type { DriverOptions } from "../wire.ts";
import { Channel } from "./channel.ts";
import { writeCodeCache } from "./load-playwright.ts";
import { rehearse } from "./rehearse.ts";
import { serve } from "./serve.ts";

/**
 * Runs inside a sandbox as its user. Belljar asks it over file descriptor 3, it drives Chromium over a pipe, and nobody else can reach either.
 * It ends with its channel, and Chromium with it. With `--wait` it makes itself ready, and starts Chromium when it is told to. With
 * `--write-code-cache` it prepares itself, which the build does.
 */
const [, , argument = "{}", mode] = process.argv;
if (argument === "--write-code-cache") writeCodeCache();
else await drive(JSON.parse(argument) as DriverOptions);

async function drive(options: DriverOptions): Promise<void> {
  outliveRenderers();
  // What a page does must not end it: playwright's own promises may reject when nobody waits for them any more.
  process.on("unhandledRejection", (error) => void process.stderr.write(`${String(error)}\n`));
  const channel = new Channel(new Socket({ fd: 3, readable: true, writable: true }), () => process.exit(0));
  await serve(channel, mode === "--wait" ? await awaitStart(channel, options) : options);
}

/**
 * The guest has the kernel end its commands before itself when memory is out. Chromium gives its renderers a fixed score, which is lower than
 * that of a command: the driver would go first, and all tabs with it. A score may fall to that of the parent, and Chromium inherits this one.
 */
function outliveRenderers(): void {
  writeFileSync("/proc/self/oom_score_adj", readFileSync(`/proc/${process.ppid}/oom_score_adj`));
}

async function awaitStart(channel: Channel, options: DriverOptions): Promise<DriverOptions> {
  // Whoever wants a browser that cannot be started learns why.
  await rehearse(options).catch(() => undefined);
  await channel.send({ type: "waiting" });
  const message = await channel.next();
  if (message.type !== "start") process.exit(0);
  // Its sandbox had no owner when it was started, and has the variables of one now.
  Object.assign(process.env, message.env);
  return message.options;
}
