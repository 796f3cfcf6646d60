import { once } from "node:events";
import { Agent, type ClientRequest, type IncomingMessage, request } from "node:http";
import { Agent as SecureAgent, request as secureRequest } from "node:https";
import { ProtocolError, SdkError, SdkErrorCode, SdkHttpError, UnauthorizedError } from "@modelcontextprotocol/client";
import { BelljarError } from "../../../errors.ts";
import { hasManyTokens } from "../../../files/json-tokens.ts";
import { parseJson } from "../../../files/parse-json.ts";
import { isRecord } from "../config/is-record.ts";
import type { JsonObject } from "../json-object.ts";
import { encodeHeader } from "../param-headers.ts";
import { EventStream } from "./event-stream.ts";
import { GrowingBytes } from "./growing-bytes.ts";
import type { HttpWay } from "./http-way.ts";
import { MESSAGE_MAX_BYTES, MESSAGE_TOKENS } from "./message-lines.ts";
import { Pace } from "./pace.ts";

/** A server may close a connection that nobody uses at the moment when it is used again. Most keep them for five seconds. */
const IDLE_MS = 4_000;
const ERROR_MAX_BYTES = 65_536;
const COMPLETE = [undefined, "complete"];

export interface RawHttpOptions {
  /** Of the server. */
  readonly name: string;
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly version: string;
  readonly clientInfo: JsonObject;
  readonly logged?: ((params: JsonObject) => void) | undefined;
  /** The token of the login that requests are sent with, if the person has logged in. */
  readonly token?: (() => Promise<string | undefined>) | undefined;
  /** How requests leave this machine. Default: each one may. */
  readonly way?: HttpWay | undefined;
}

export interface RawCall {
  readonly method: string;
  readonly params: JsonObject;
  /** Beside those of the protocol. */
  readonly headers: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal | undefined;
  readonly timeoutMs: number;
  readonly onProgress?: ((params: { readonly progress: number }) => void) | undefined;
  /** Default: the one of all calls. */
  readonly logged?: ((params: JsonObject) => void) | undefined;
}

/**
 * Requests of the 2026-07-28 revision over HTTP, each alone as that revision has them, without the SDK's client, which costs five times as
 * much. Answers come as the server sent them, without `resultType` when they are complete. Disposing it ends what is under way.
 */
export class RawHttp implements Disposable {
  readonly #options: RawHttpOptions;
  readonly #agent: Agent;
  readonly #way: HttpWay;
  readonly #pace = new Pace();
  #id = 0;
  #isElsewhere = false;

  constructor(options: RawHttpOptions) {
    this.#options = options;
    const kept = { keepAlive: true, timeout: IDLE_MS };
    const isSecure = options.url.protocol === "https:";
    const agent = isSecure ? new SecureAgent(kept) : new Agent(kept);
    this.#agent = agent;
    this.#way = options.way ?? { open: (url, start) => (isSecure ? secureRequest : request)(url, { ...start, agent }) };
  }

  /** True once the server has sent a request elsewhere. */
  get isElsewhere(): boolean {
    return this.#isElsewhere;
  }

  /**
   * Resolves with undefined if the request had no effect, because the server sends it elsewhere, or refuses its login. Rejects with the errors
   * of the SDK, and as the login's token does.
   */
  async request(call: RawCall): Promise<JsonObject | undefined> {
    const id = (this.#id += 1);
    const token = await this.#options.token?.();
    const sent = this.#send(id, token === undefined ? call : { ...call, headers: { ...call.headers, authorization: `Bearer ${token}` } });
    sent.on("error", () => undefined); // it may fail once more after its answer has begun
    let isLate = false;
    const timer = setTimeout(() => {
      isLate = true;
      sent.destroy();
    }, call.timeoutMs);
    try {
      const [response] = (await once(sent, "response")) as [IncomingMessage];
      return await this.#answer(response, id, call);
    } catch (cause) {
      throw isLate ? new SdkError(SdkErrorCode.RequestTimeout, "Request timed out") : cause;
    } finally {
      clearTimeout(timer);
      sent.destroy(); // nothing, once it was read to its end
    }
  }

  [Symbol.dispose](): void {
    this.#agent.destroy();
  }

  #send(id: number, { method, params, headers, signal, onProgress }: RawCall): ClientRequest {
    const { url, version, clientInfo } = this.#options;
    const { _meta, ...asked } = params;
    const meta = {
      "io.modelcontextprotocol/protocolVersion": version,
      "io.modelcontextprotocol/clientInfo": clientInfo,
      "io.modelcontextprotocol/clientCapabilities": {},
      ...(isRecord(_meta) && _meta),
      ...(onProgress && { progressToken: id }),
    };
    const body = Buffer.from(JSON.stringify({ jsonrpc: "2.0", id, method, params: { ...asked, _meta: meta } }));
    const named = nameOf(method, params);
    const sent = this.#way.open(url, {
      method: "POST",
      signal,
      headers: {
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
        "accept-encoding": "identity",
        ...this.#options.headers,
        ...headers,
        "mcp-protocol-version": version,
        "mcp-method": method,
        ...(named !== undefined && { "mcp-name": encodeHeader(named) }),
        "content-length": body.length,
      },
    });
    sent.end(body);
    return sent;
  }

  async #answer(response: IncomingMessage, id: number, call: RawCall): Promise<JsonObject | undefined> {
    const { statusCode: status = 0, headers } = response;
    if (status >= 300 && status < 400) {
      this.#isElsewhere = true;
      return undefined;
    }
    if (this.#options.token && (status === 401 || (status === 403 && headers["www-authenticate"] !== undefined))) return undefined;
    if (status !== 200) throw await this.#refusal(response, id);
    if ((headers["content-encoding"] ?? "identity") !== "identity") throw this.#incompatible("packed its answer, which was not asked for");
    const type = headers["content-type"]?.split(";", 1)[0]?.trim().toLowerCase();
    if (type === "application/json") return this.#take(await this.#readJson(response), id);
    if (type === "text/event-stream") return this.#takeEvents(response, id, call);
    throw this.#incompatible(`answered with ${type ?? "no type of content"}`);
  }

  async #takeEvents(response: IncomingMessage, id: number, call: RawCall): Promise<JsonObject> {
    const events = new EventStream(() => this.#tooLarge());
    this.#pace.asked();
    for await (const chunk of response as AsyncIterable<Buffer>) {
      const before = events.tokens;
      for (const data of events.read(chunk)) {
        const message = parseJson(data);
        if (!isRecord(message)) continue;
        if (message["method"] === undefined) return this.#take(message, id);
        this.#hear(message, id, call);
      }
      await this.#pace.next(chunk.length, events.tokens - before, call.signal);
    }
    throw new BelljarError("SERVER_UNREACHABLE", `The server "${this.#options.name}" ended its answer before it was there`);
  }

  #hear({ method, params }: JsonObject, id: number, { onProgress, logged = this.#options.logged }: RawCall): void {
    if (!isRecord(params)) return;
    if (method === "notifications/message") logged?.(params);
    if (method !== "notifications/progress" || params["progressToken"] !== id) return;
    if (typeof params["progress"] === "number") onProgress?.({ ...params, progress: params["progress"] });
  }

  #take(message: unknown, id: number): JsonObject {
    if (!isRecord(message) || message["id"] !== id) throw this.#incompatible("answered with another request's answer, or none");
    const { result, error } = message;
    if (isRecord(error)) throw toProtocolError(error);
    if (!isRecord(result)) throw this.#incompatible("answered with no result");
    const { resultType, ...rest } = result;
    if (COMPLETE.includes(resultType as undefined)) return rest;
    if (resultType === "input_required") return result;
    throw this.#incompatible(`answered with a result of an unknown kind, ${JSON.stringify(resultType)?.slice(0, 100)}`);
  }

  async #refusal(response: IncomingMessage, id: number): Promise<Error> {
    const { statusCode: status = 0, statusMessage: statusText = "" } = response;
    if (status === 401) return new UnauthorizedError();
    const text = (await this.#read(response, ERROR_MAX_BYTES)).toString("utf8");
    const message = status === 400 ? parseJson(text) : undefined;
    if (isRecord(message) && message["id"] === id && isRecord(message["error"])) return toProtocolError(message["error"]);
    return new SdkHttpError(SdkErrorCode.ClientHttpNotImplemented, `Error POSTing to endpoint: ${text}`, { status, statusText, text });
  }

  async #readJson(response: IncomingMessage): Promise<unknown> {
    const bytes = await this.#read(response, MESSAGE_MAX_BYTES);
    if (hasManyTokens(bytes, MESSAGE_TOKENS)) throw this.#tooLarge();
    return parseJson(bytes.toString("utf8"));
  }

  async #read(response: IncomingMessage, maxBytes: number): Promise<Buffer> {
    const bytes = new GrowingBytes();
    for await (const chunk of response as AsyncIterable<Buffer>) {
      if (bytes.length + chunk.length > maxBytes) throw this.#tooLarge();
      bytes.append(chunk);
    }
    return bytes.take();
  }

  #tooLarge(): BelljarError {
    return new BelljarError("RESULT_TOO_LARGE", `The server "${this.#options.name}" sent a message that is too large`);
  }

  #incompatible(what: string): BelljarError {
    return new BelljarError("SERVER_INCOMPATIBLE", `The server "${this.#options.name}" ${what}`);
  }
}

/** What the `Mcp-Name` header mirrors. */
function nameOf(method: string, { name, uri }: JsonObject): string | undefined {
  const mirrored = method === "resources/read" ? uri : method === "tools/call" || method === "prompts/get" ? name : undefined;
  return typeof mirrored === "string" ? mirrored : undefined;
}

function toProtocolError({ code, message, data }: JsonObject): ProtocolError {
  return ProtocolError.fromError(typeof code === "number" ? code : 0, typeof message === "string" ? message : "", data);
}
