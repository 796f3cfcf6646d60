import { setTimeout as wait } from "node:timers/promises";
import type { ClientRequests } from "../../../catalog/question.ts";
import { refusalOf } from "../../../catalog/refusal.ts";
import { BelljarError } from "../../../errors.ts";
import { isRecord } from "../../client/config/is-record.ts";
import type { JsonObject } from "../../client/json-object.ts";
import type { ParamHeader } from "../../client/param-headers.ts";
import { CALL_TIMEOUT_MS, isOfLostSession, type Progress } from "../../client/server-session.ts";
import type { HubServer } from "../hub-server.ts";
import type { Instances } from "../instances.ts";
import { OpenCall } from "../open-call.ts";
import type { ServerInstance } from "../server-instance.ts";
import { CallQueue } from "./call-queue.ts";
import { LogLevels } from "./log-levels.ts";
import { LISTS } from "./server-lists.ts";
import { type KeyOf, keyOf, type RelayContext, SHARED } from "./relay-context.ts";

/** A call has a clock of its own. */
const NO_LIMIT_MS = 24 * 3_600_000;
/** Before a call that is to be made again without an answer of the client's. */
const AGAIN_MS = 250;
/** What of a client's abilities the hub relays. */
const RELAYED = ["elicitation", "sampling", "roots"];
const OF_CLIENT = "io.modelcontextprotocol/clientCapabilities";
const OF_LOG = "io.modelcontextprotocol/logLevel";

export interface ServerCallsOptions {
  readonly server: HubServer;
  readonly instances: Instances<ServerInstance>;
  readonly keyOf: KeyOf;
  /** The id of a caller who may have all places. */
  readonly owner: string;
  /** How many calls it answers at once, and how many may wait. */
  readonly concurrency: number;
  readonly queue: number;
}

/** Makes the calls of all callers to one server, each by the instance of its caller and client. */
export class ServerCalls {
  readonly #options: ServerCallsOptions;
  readonly #queue: CallQueue;
  readonly #levels = new LogLevels();

  constructor(options: ServerCallsOptions) {
    this.#options = options;
    this.#queue = new CallQueue({ ...options, server: options.server.name });
  }

  /**
   * Gives the answer as the server sent it. A request that an HTTP server refused because it had lost the session had no effect, and is made once
   * more. Rejects with `SERVER_BUSY`, and as a session's request does.
   */
  async request(context: RelayContext, asked: Asked): Promise<JsonObject> {
    const { callTimeoutMs = CALL_TIMEOUT_MS, name } = this.#options.server.target;
    using call = new OpenCall(context, callTimeoutMs);
    try {
      using _place = await this.#queue.enter(context.principal.id, call.signal);
      return await this.#make(call, context, asked);
    } catch (cause) {
      if (call.isLate) throw new BelljarError("EXEC_TIMEOUT", `The server "${name}" did not answer within ${callTimeoutMs} ms`, { cause });
      if (context.signal.aborted && !(cause instanceof BelljarError)) {
        throw new BelljarError("CANCELLED", `${asked.method} was cancelled`, { cause });
      }
      throw cause;
    }
  }

  async #make(call: OpenCall, context: RelayContext, asked: Asked): Promise<JsonObject> {
    const { instances } = this.#options;
    const key = this.#options.keyOf(context);
    const ask = async (instance: ServerInstance): Promise<JsonObject> => {
      call.resume();
      return this.#ask(instance, call, context, asked);
    };
    // It has served no caller yet.
    if (key !== SHARED) instances.handOver(LISTS, key);
    // The start has a limit of its own.
    call.pause();
    try {
      return await instances.use(key, call.signal, ask);
    } catch (cause) {
      if (!isOfLostSession(cause)) throw cause;
    }
    call.pause();
    return instances.use(key, call.signal, ask);
  }

  async #ask(instance: ServerInstance, call: OpenCall, context: RelayContext, { method, params, declared }: Asked): Promise<JsonObject> {
    const { session, calls } = instance;
    using _open = calls.add(call, keyOf(context));
    const onProgress = (progress: Progress): void => context.progress?.(toProgress(progress));
    const logged = (told: JsonObject): void => call.log(told);
    const options = { signal: call.signal, onProgress, logged, timeoutMs: NO_LIMIT_MS, takesQuestions: true as const, declared };
    const told = { ...params, ...metaOf(context, session.era) };
    let again: JsonObject = {};
    await this.#levels.tell(session, context, call.signal);
    try {
      for (;;) {
        const answer = await session.request(method, { ...told, ...again }, options);
        if (answer["resultType"] !== "input_required") return answer;
        again = await this.#answered(call, answer);
      }
    } catch (cause) {
      calls.noteElicitations(refusalOf(cause)?.data, context.client);
      // What it asks from now on may belong to the call that was given up, and reach somebody else.
      const isOthersToo = context.clientId === undefined || this.#options.keyOf(context) === SHARED;
      if (call.signal.aborted && isOthersToo) calls.silence();
      throw cause;
    }
  }

  /** What the call is made again with. */
  async #answered(call: OpenCall, { inputRequests = {}, requestState }: JsonObject): Promise<JsonObject> {
    const { name } = this.#options.server;
    if (!isRecord(inputRequests) || !Object.values(inputRequests).every(isRequest))
      throw new BelljarError("SERVER_INCOMPATIBLE", `The server "${name}" asks for something that is none`);
    const inputResponses = await call.relay(name, inputRequests as ClientRequests);
    if (Object.keys(inputResponses).length === 0) await wait(AGAIN_MS, undefined, { signal: call.signal });
    return { inputResponses, ...(requestState !== undefined && { requestState }) };
  }
}

/** What a server is asked. */
export interface Asked {
  readonly method: string;
  readonly params: JsonObject;
  /** Of the tool that is called: arguments that its server wants as headers too. */
  readonly declared?: readonly ParamHeader[] | undefined;
}

function isRequest(value: unknown): boolean {
  return isRecord(value) && typeof value["method"] === "string";
}

/** What the client said beside its arguments. A server of the newer era learns what this client answers, not what some client does. */
function metaOf({ client, log }: RelayContext, era: "legacy" | "modern"): { readonly _meta?: JsonObject } {
  const { meta = {}, capabilities = {} } = client ?? {};
  if (era === "legacy") return Object.keys(meta).length > 0 ? { _meta: meta } : {};
  const able = Object.entries(capabilities).filter(([ability]) => client?.relay !== undefined && RELAYED.includes(ability));
  return { _meta: { ...meta, [OF_CLIENT]: Object.fromEntries(able), ...(log && client?.logLevel && { [OF_LOG]: client.logLevel }) } };
}

function toProgress({ progress, total, message }: Progress) {
  return { progress, ...(total !== undefined && { total }), ...(message !== undefined && { message }) };
}
