import { BelljarError } from "../../../errors.ts";
import { isRecord } from "../config/is-record.ts";
import type { JsonObject } from "../json-object.ts";
import type { Exchange, Recording } from "./read-recording.ts";
import { keyOf } from "./read-recording.ts";

const METHOD_NOT_FOUND = -32_601;
const INVALID_PARAMS = -32_602;
const SUBSCRIPTION = "io.modelcontextprotocol/subscriptionId";

/** A server that says what another one said in a recording. */
export interface Replay {
  /** Takes a message of a client. Resolves when all that follows from it has been said. */
  take(message: unknown): Promise<void>;
}

/**
 * Plays a recording. A request is answered as the same one was, with its progress and questions before. One that was asked several times has
 * its answers in their order, and then the last one again. One that was never asked is refused.
 */
export function createReplay(recording: Recording, say: (message: JsonObject) => void): Replay {
  const played = new Map<string, number>();
  const waiting = new Map<unknown, () => void>();
  const methods = new Set([...recording.keys()].map((key) => (key.startsWith("[") ? (JSON.parse(key) as unknown[])[0] : key)));

  const next = (key: string): Exchange | undefined => {
    const all = recording.get(key);
    if (!all) return undefined;
    const index = played.get(key) ?? 0;
    played.set(key, index + 1);
    return all[Math.min(index, all.length - 1)];
  };
  const answer = async (request: JsonObject): Promise<void> => {
    const { id, method } = request;
    const key = keyIfAny(request);
    const exchange = key === undefined ? undefined : next(key);
    if (!exchange) return method === "ping" ? say({ jsonrpc: "2.0", id, result: {} }) : say(refusal(request, methods.has(method)));
    for (const message of exchange.before) {
      const answered = message["id"] === undefined ? undefined : new Promise<void>((resolve) => waiting.set(message["id"], resolve));
      say(retarget(message, exchange, request));
      await answered;
    }
    if (exchange.answer) say({ ...exchange.answer, id });
  };
  return {
    async take(message) {
      if (!isRecord(message)) return;
      if (typeof message["method"] !== "string") waiting.get(message["id"])?.();
      else if (message["id"] !== undefined) await answer(message);
    },
  };
}

/** A request that is nested too deep to have been recorded has none. */
function keyIfAny(request: JsonObject): string | undefined {
  try {
    return keyOf(request);
  } catch (cause) {
    if (cause instanceof BelljarError) return undefined;
    throw cause;
  }
}

function refusal({ id, method }: JsonObject, isKnown: boolean): JsonObject {
  const what = isKnown ? "with these arguments" : "at all";
  const message = `The recording has no answer to ${String(method)} ${what}`;
  return { jsonrpc: "2.0", id, error: { code: isKnown ? INVALID_PARAMS : METHOD_NOT_FOUND, message } };
}

/** The same message for another request: progress and changes say whose they are. */
function retarget(message: JsonObject, { id, progressToken }: Exchange, request: JsonObject): JsonObject {
  const { params } = message;
  if (!isRecord(params)) return message;
  const asked = isRecord(request["params"]) ? request["params"]["_meta"] : undefined;
  const meta = params["_meta"];
  const isOwn = progressToken !== undefined && params["progressToken"] === progressToken && isRecord(asked);
  const isSubscribed = isRecord(meta) && meta[SUBSCRIPTION] === id;
  return {
    ...message,
    params: {
      ...params,
      ...(isOwn && { progressToken: asked["progressToken"] }),
      ...(isSubscribed && { _meta: { ...meta, [SUBSCRIPTION]: request["id"] } }),
    },
  };
}
