import { Socket } from "node:net";
import { Channel } from "./javascript/channel.ts";
import { toTraceback } from "./javascript/failure.ts";
import { LineReader } from "./javascript/line-reader.ts";
import { toDisplay } from "./javascript/mime.ts";
import { Modules } from "./javascript/modules.ts";
import { parsePreparation, parseRequest, setEnv } from "./javascript/request.ts";
import { KERNEL } from "./javascript/rewrite.ts";
import { Runs } from "./javascript/runs.ts";
import { redirectStreams } from "./javascript/standard-streams.ts";

/**
 * Runs inside a sandbox: keeps the state of a JavaScript or TypeScript context between its runs.
 * Requests come, and answers go, as JSON lines on descriptor 3. User code runs in the global scope of this process.
 * Started as `node --no-force-async-hooks-checks javascript-kernel.mjs`: else Node ends when an interrupt breaks off a callback.
 */
const CHANNEL_FD = 3;
const REQUEST_BYTES = 32 * 1024 * 1024;

const channel = new Channel(CHANNEL_FD);
const modules = new Modules();
const kernel = { step: (): unknown => undefined, giveLeave: (): void => undefined, import: modules.import, take: modules.take };
Object.defineProperty(kernel, "meta", { get: () => modules.meta });
Object.defineProperty(globalThis, KERNEL, { value: kernel });
Object.defineProperty(globalThis, "display", {
  value: (...values: unknown[]) => {
    for (const value of values) channel.send({ type: "display", data: toDisplay(value) });
  },
  configurable: true,
  writable: true,
});

modules.define();
redirectStreams(channel);
// The kernel's file is not the program: `cluster` and checks for the main module would take it for that.
process.argv.splice(1);
process.execArgv.splice(0);

/** An exception that nobody caught ends no context. */
const tell = (kind: string) => (reason: unknown) => {
  try {
    channel.sendText("stderr", `${kind}: ${toTraceback(reason)}\n`);
  } catch {
    channel.sendText("stderr", `${kind}, and it cannot be shown\n`);
  }
};
const runs = new Runs(channel, kernel);
const tellUncaught = tell("Uncaught");
process.on("uncaughtException", (error) => (runs.isInterrupt(error) ? runs.interrupt() : tellUncaught(error)));
process.on("unhandledRejection", tell("Uncaught (in promise)"));

const reader = new LineReader(REQUEST_BYTES, (line) => {
  const request = parseRequest(line);
  if (request) return runs.add(request);
  const preparation = parsePreparation(line);
  if (!preparation) return;
  setEnv(preparation.env);
  channel.prepared(preparation.prepare);
});
const exit = process.exit.bind(process);
new Socket({ fd: CHANNEL_FD, readable: true, writable: false })
  .on("data", (chunk) => reader.push(chunk))
  .on("error", () => exit(1))
  .on("close", () => exit(0));
