import { type ClientRequest, type ClientRequests, unanswerable } from "../../catalog/question.ts";
import { isNestedTooDeep } from "../../catalog/nesting.ts";
import type { CallLogLevel } from "../../catalog/tool.ts";
import { BelljarError } from "../../errors.ts";
import { isRecord } from "../client/config/is-record.ts";
import type { JsonObject } from "../client/json-object.ts";
import type { RelayContext } from "./relay/relay-context.ts";

const MESSAGE_MAX = 2_000;
/** Of one call. */
const QUESTIONS_MAX = 20;
const LEVELS = new Set<unknown>(["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"]);

/** A call that a server answers. Its time stands still while the client is asked for it, and while the server starts. */
export class OpenCall implements Disposable {
  readonly #context: RelayContext;
  readonly #end = new AbortController();
  readonly #giveUp = (): void => this.#end.abort(this.#context.signal.reason);
  #isLate = false;
  #leftMs: number;
  #startedAt = 0;
  #timer: NodeJS.Timeout | undefined;
  #questions = 0;
  #isAsking = false;

  constructor(context: RelayContext, timeoutMs: number) {
    this.#context = context;
    this.#leftMs = timeoutMs;
    if (context.signal.aborted) this.#giveUp();
    // Every call comes here, and `AbortSignal.any` costs several times as much.
    else context.signal.addEventListener("abort", this.#giveUp, { once: true });
    this.resume();
  }

  /** Aborts when the caller gives up, and when the time is up. */
  get signal(): AbortSignal {
    return this.#end.signal;
  }

  get isLate(): boolean {
    return this.#isLate;
  }

  /**
   * Asks the caller's client, which is told which server asks; its answers have the same keys. One question at a time. Rejects with
   * `PERSON_UNREACHABLE`.
   */
  async relay(server: string, requests: ClientRequests): Promise<Readonly<Record<string, unknown>>> {
    const asked = Object.entries(requests);
    this.#questions += Math.max(1, asked.length);
    if (this.#isAsking || this.#questions > QUESTIONS_MAX)
      throw new BelljarError(
        "PERSON_UNREACHABLE",
        `The server "${server}" asks too much: one question at a time, and ${QUESTIONS_MAX} a call`,
      );
    if (asked.length === 0) return {};
    const { client, signal } = this.#context;
    if (!client?.relay) throw unanswerable(asked[0]?.[1].method ?? "");
    this.#isAsking = true;
    this.pause();
    try {
      return await client.relay(Object.fromEntries(asked.map(([key, request]) => [key, named(server, request)])), signal);
    } finally {
      this.#isAsking = false;
      this.resume();
    }
  }

  /** A message for the log of the caller's client. What is none is dropped. */
  log({ level, data, logger }: JsonObject): void {
    if (!LEVELS.has(level) || isNestedTooDeep(data)) return;
    this.#context.log?.(level as CallLogLevel, data, typeof logger === "string" ? logger : undefined);
  }

  pause(): void {
    if (this.#timer === undefined) return;
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#leftMs = Math.max(0, this.#leftMs - (performance.now() - this.#startedAt));
  }

  resume(): void {
    if (this.#leftMs === Infinity || this.#timer !== undefined) return;
    this.#startedAt = performance.now();
    this.#timer = setTimeout(() => this.#expire(), this.#leftMs).unref();
  }

  #expire(): void {
    this.#isLate = true;
    this.#end.abort();
  }

  [Symbol.dispose](): void {
    this.#leftMs = Infinity;
    clearTimeout(this.#timer);
    this.#context.signal.removeEventListener("abort", this.#giveUp);
  }
}

/** A person must not take one server's question for another's, or for Belljar's own. */
function named(server: string, { method, params }: ClientRequest): ClientRequest {
  if (isNestedTooDeep(params))
    throw new BelljarError("SERVER_INCOMPATIBLE", `The server "${server}" asks something that is nested too deep`);
  if (method !== "elicitation/create" || !isRecord(params)) return { method, ...(params !== undefined && { params }) };
  const { message } = params;
  const text = typeof message === "string" ? message.slice(0, MESSAGE_MAX) : "";
  return { method, params: { mode: "form", ...params, message: `The server "${server}" asks: ${text}` } };
}

/** The calls that an instance answers now, of which one may be told to its caller. */
export class OpenCalls {
  readonly #server: string;
  readonly #calls = new Set<OpenCall>();
  /** The client of the first call, by its key. */
  #first: string | undefined;
  /** Several clients have called. */
  #isMixed = false;
  #isSilent = false;

  constructor(server: string) {
    this.#server = server;
  }

  /** From now on nobody is asked or told anything: it could belong to a call that was given up. */
  silence(): void {
    this.#isSilent = true;
  }

  /** `client`: the key of whoever calls. */
  add(call: OpenCall, client: string): Disposable {
    this.#first ??= client;
    this.#isMixed ||= client !== this.#first;
    this.#calls.add(call);
    return { [Symbol.dispose]: () => void this.#calls.delete(call) };
  }

  /**
   * Asks the client of the call that a server's request belongs to. Rejects with `PERSON_UNREACHABLE` if there is no such call, or if there are
   * several, and with `CANCELLED` once the server takes it back.
   */
  async relay(request: ClientRequest, signal: AbortSignal | undefined): Promise<JsonObject> {
    const call = this.#only();
    if (typeof call === "string") {
      throw new BelljarError("PERSON_UNREACHABLE", `Nobody can be asked what the server "${this.#server}" asks: ${call}`);
    }
    const asked = call.relay(this.#server, { [KEY]: request });
    // Nobody hears how a question ends that was taken back.
    asked.catch(() => undefined);
    const { [KEY]: answer } = await (signal ? Promise.race([asked, takenBack(signal)]) : asked);
    return answer as JsonObject;
  }

  /**
   * To the log of the call's client; dropped where it cannot be told whose call it belongs to. A question belongs to a call that is open, but a
   * message may speak of one that has ended, so where several clients have called nobody hears it.
   */
  log(params: JsonObject): void {
    const call = this.#isMixed ? "several clients have called" : this.#only();
    if (typeof call !== "string") call.log(params);
  }

  #only(): OpenCall | string {
    const [call, ...others] = this.#isSilent ? [] : this.#calls;
    if (!call) return "it answers no call";
    return others.length > 0 ? "it answers several calls at once" : call;
  }
}

const KEY = "answer";

function takenBack(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    const stop = (): void => reject(new BelljarError("CANCELLED", "The server took its question back"));
    if (signal.aborted) stop();
    signal.addEventListener("abort", stop, { once: true });
  });
}
