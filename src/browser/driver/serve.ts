import type { DriverOptions, DriverRequest, ServerMessage } from "../wire.ts";
import type { Channel } from "./channel.ts";
import { launchChromium } from "./chromium.ts";
import { forgetCookies, keepCookies, restoreCookies } from "./cookies.ts";
import { DriverError, toFailure } from "./driver-error.ts";
import { browserFolders } from "./profile.ts";
import { runAction } from "./run-action.ts";
import type { Place } from "./session.ts";
import { Sessions } from "./sessions.ts";

/** Starts the browser and serves its channel. The process ends with the browser. */
export async function serve(channel: Channel, options: DriverOptions): Promise<void> {
  const folders = browserFolders();
  try {
    const { context, child } = await launchChromium(options, folders);
    child.once("exit", () => process.exit(1));
    await restoreCookies(context, folders);
    const driver = new Driver({ channel, context, folders, restMs: options.restMs });
    await channel.send({ type: "ready", version: context.browser()?.version() ?? "" });
    channel.listen((message) => void driver.take(message));
  } catch (error) {
    await channel.send({ type: "failed", error: toFailure(error, "BROWSER_UNAVAILABLE") });
    process.exit(1);
  }
}

interface Parts extends Place {
  readonly channel: Channel;
}

class Driver {
  readonly #parts: Parts;
  readonly #sessions: Sessions;
  readonly #running = new Map<number, AbortController>();

  constructor(parts: Parts) {
    this.#parts = parts;
    this.#sessions = new Sessions(parts);
  }

  async take(message: ServerMessage): Promise<void> {
    const { context, folders } = this.#parts;
    switch (message.type) {
      case "request":
        return this.#answer(message);
      case "cancel":
        return this.#running.get(message.id)?.abort(new DriverError("CANCELLED", "The call was cancelled"));
      case "leave":
        return this.#sessions.leave(message.session);
      case "keep":
        return this.#reply(message.id, () => keepCookies(context, folders).then(() => ({ value: null })));
      case "kept":
        return forgetCookies(folders);
      case "end":
        return this.#end();
      case "start":
        throw new TypeError("A driver starts one browser");
    }
  }

  async #end(): Promise<never> {
    const { context, folders } = this.#parts;
    await keepCookies(context, folders).catch(() => undefined);
    await context.close().catch(() => undefined);
    process.exit(0);
  }

  async #answer(request: DriverRequest): Promise<void> {
    const controller = new AbortController();
    this.#running.set(request.id, controller);
    const timer = setTimeout(() => controller.abort(timedOut(request)), request.timeoutMs);
    await this.#reply(request.id, () => runAction(this.#sessions.of(request.session), request, controller.signal));
    clearTimeout(timer);
    this.#running.delete(request.id);
    controller.abort();
  }

  async #reply(id: number, work: () => ReturnType<typeof runAction>): Promise<void> {
    const { channel } = this.#parts;
    try {
      const { value, picture } = await work();
      await channel.send({ type: "answer", id, value, ...(picture && { picture: picture.type }) }, picture);
    } catch (error) {
      await channel.send({ type: "answer", id, error: toFailure(error) });
    }
  }
}

function timedOut({ action, timeoutMs }: DriverRequest): DriverError {
  return new DriverError("ACTION_TIMEOUT", `${action} did not end within ${timeoutMs} ms`);
}
