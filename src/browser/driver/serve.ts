import type { Socket } from "node:net";
import { once } from "node:events";
import type { BrowserContext } from "playwright-core";
import type { DriverMessage, DriverOptions, DriverRequest, ServerMessage } from "../wire.ts";
import { FrameReader, toFrame } from "../frames.ts";
import { HANDLERS } from "./actions/handlers.ts";
import { DriverError, toFailure } from "./driver-error.ts";
import type { Answer } from "./handler.ts";
import { launch } from "./launch.ts";
import { Session } from "./session.ts";

/** Serves one channel until it ends. Never returns: the process goes with it. */
export async function serve(channel: Socket, options: DriverOptions): Promise<never> {
  const requests = listen(channel);
  try {
    const context = await launch(options);
    context.on("close", () => process.exit(1));
    send(channel, { type: "ready", version: context.browser()?.version() ?? "" });
    new Driver(channel, context).take(requests);
  } catch (error) {
    await sendLast(channel, { type: "failed", error: toFailure(error, "BROWSER_UNAVAILABLE") });
    process.exit(1);
  }
  return new Promise(() => undefined);
}

type Requests = { readonly early: ServerMessage[]; take: (message: ServerMessage) => void };

/** Chromium starts while the first request comes. */
function listen(channel: Socket): Requests {
  const early: ServerMessage[] = [];
  const requests: Requests = { early, take: (message) => early.push(message) };
  const reader = new FrameReader();
  channel.on("data", (chunk: Buffer) => {
    for (const { bytes } of reader.push(chunk)) requests.take(JSON.parse(bytes.toString()) as ServerMessage);
  });
  const end = (): never => process.exit(0);
  channel.on("end", end).on("close", end).on("error", end);
  return requests;
}

class Driver {
  readonly #channel: Socket;
  readonly #context: BrowserContext;
  readonly #sessions = new Map<string, Session>();
  readonly #running = new Map<number, AbortController>();

  constructor(channel: Socket, context: BrowserContext) {
    this.#channel = channel;
    this.#context = context;
  }

  take(requests: Requests): void {
    requests.take = (message) => this.#take(message);
    for (const message of requests.early.splice(0)) this.#take(message);
  }

  #take(message: ServerMessage): void {
    if (message.type === "request") void this.#answer(message);
    else if (message.type === "cancel") this.#running.get(message.id)?.abort();
    else void this.#leave(message.session);
  }

  async #leave(name: string): Promise<void> {
    const session = this.#sessions.get(name);
    this.#sessions.delete(name);
    await session?.close();
  }

  async #answer(request: DriverRequest): Promise<void> {
    const { id } = request;
    const controller = new AbortController();
    this.#running.set(id, controller);
    const timer = setTimeout(() => controller.abort(timedOut(request)), request.timeoutMs);
    try {
      const { value, picture } = await untilAborted(this.#run(request, controller.signal), controller.signal);
      const message = toFrame("message", toBytes({ type: "answer", id, value, ...(picture && { picture: picture.type }) }));
      this.#channel.write(picture ? Buffer.concat([toFrame("picture", picture.bytes), message]) : message);
    } catch (error) {
      send(this.#channel, { type: "answer", id, error: toFailure(error) });
    } finally {
      clearTimeout(timer);
      this.#running.delete(id);
    }
  }

  async #run(request: DriverRequest, signal: AbortSignal): Promise<Answer<unknown>> {
    const handler = HANDLERS.find(({ name }) => name === request.action);
    if (!handler) throw new DriverError("ARGUMENTS_INVALID", `There is no action "${request.action}"`);
    const tab = await this.#session(request.session).current();
    const work = () => handler.run(tab, request.args as never, signal);
    return handler.isUrgent === true ? work() : tab.turns.run(work, signal);
  }

  #session(name: string): Session {
    const known = this.#sessions.get(name);
    if (known) return known;
    const session = new Session(this.#context);
    this.#sessions.set(name, session);
    return session;
  }
}

function untilAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  promise.catch(() => undefined);
  const aborted = once(signal, "abort").then(() => {
    throw signal.reason instanceof DriverError ? signal.reason : new DriverError("CANCELLED", "The call was cancelled");
  });
  return Promise.race([promise, aborted]);
}

function timedOut({ action, timeoutMs }: DriverRequest): DriverError {
  return new DriverError("ACTION_TIMEOUT", `${action} did not end within ${timeoutMs} ms`);
}

function toBytes(message: DriverMessage): Buffer {
  return Buffer.from(JSON.stringify(message));
}

function send(channel: Socket, message: DriverMessage): void {
  channel.write(toFrame("message", toBytes(message)));
}

async function sendLast(channel: Socket, message: DriverMessage): Promise<void> {
  await new Promise<void>((resolve) => channel.write(toFrame("message", toBytes(message)), () => resolve()));
}
