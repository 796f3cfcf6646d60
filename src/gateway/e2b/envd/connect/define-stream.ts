import { Readable } from "node:stream";
import * as z from "zod";
import { limitTime } from "../../../../async/limit-time.ts";
import { BelljarError } from "../../../../errors.ts";
import { DOOR } from "../../../auth/access.ts";
import { toFailure } from "../../../error-answer.ts";
import type { GatewayLog } from "../../../gateway-log.ts";
import { parseRequest } from "../../../parse-request.ts";
import type { Asked, Route } from "../../../routes/route.ts";
import { defineRoute } from "../../../routes/route.ts";
import { isGone } from "../../e2b-errors.ts";
import { connectCodeOf } from "./connect-code.ts";
import type { ConnectFailure } from "./envelope.ts";
import { MESSAGE_MAX_BYTES, readMessage, readMessages } from "./envelope.ts";
import { createEventAnswer } from "./event-answer.ts";
import type { EventAnswer } from "./event-answer.ts";

const STREAM_TYPE = "application/connect+json";
/** Between two events. E2B's program takes it where a client says nothing. */
const KEEPALIVE_S = 90;
/** What a timer of Node can wait. */
const TIMEOUT_MAX_MS = 2_147_483_647;

export interface StreamCall<Input> {
  readonly asked: Asked;
  readonly input: Input;
  /** Aborts when the client goes, and when the time is over that it gave. The events must then end or fail. */
  readonly signal: AbortSignal;
  /** The time that the client gave. */
  readonly timeoutMs: number | undefined;
}

/** A call of Connect's that is answered by events. */
export interface ServerStream<Input, Event> {
  /** `/package.Service/Method` */
  readonly path: string;
  readonly summary: string;
  readonly input: z.ZodType<Input>;
  readonly event: z.ZodType<Event>;
  /** Sent while nothing else is. */
  readonly keepalive: Event;
  /**
   * The next event is asked for when the client has taken those before, so that a slow client holds whoever gives them. A failure ends the
   * answer in Connect's words; if the sandbox is gone, the connection is cut.
   */
  events(call: StreamCall<Input>): AsyncIterable<Event>;
}

/** The status of the answer is 200 also for failures. A sandbox that is gone before the first event is 502. */
export function defineStream<Input, Event>(stream: ServerStream<Input, Event>, log: GatewayLog): Route {
  return streamRoute({ ...stream, limitBytes: 2 * MESSAGE_MAX_BYTES }, log, async (asked, answer) => {
    const timeoutMs = timeoutOf(asked);
    using limits = limitsOf(asked.signal, timeoutMs);
    const { signal } = limits;
    try {
      const input = parseRequest(stream.input, await readMessage(bodyOf(asked)));
      answer.keepAlive(stream.keepalive, keepaliveMs(asked));
      for await (const event of stream.events({ asked, input, signal, timeoutMs })) await answer.send(event);
    } catch (error) {
      if (!limits.isOver()) throw error;
    }
    if (limits.isOver()) throw new BelljarError("EXEC_TIMEOUT", `The call took longer than the ${timeoutMs} ms that it gave`);
  });
}

/** A call of Connect's whose client sends messages, and gets one when they have ended. */
export interface ClientStream<Input, Output> {
  readonly path: string;
  readonly summary: string;
  readonly input: z.ZodType<Input>;
  readonly output: z.ZodType<Output>;
  /** Messages are read as they are asked for, so that whoever takes them holds the client. */
  handle(messages: AsyncIterable<Input>, asked: Asked): Promise<Output>;
}

export function defineClientStream<Input, Output>(stream: ClientStream<Input, Output>, log: GatewayLog): Route {
  const { path, summary, output } = stream;
  return streamRoute({ path, summary, event: output, limitBytes: Number.MAX_SAFE_INTEGER }, log, async (asked, answer) => {
    await answer.send(await stream.handle(parsed(stream.input, bodyOf(asked)), asked));
  });
}

/** How it is put into a route. */
interface StreamShape {
  readonly path: string;
  readonly summary: string;
  readonly event: z.ZodType;
  readonly limitBytes: number;
}

type Serve = (asked: Asked, answer: EventAnswer) => Promise<void>;

function streamRoute({ path, summary, event, limitBytes }: StreamShape, log: GatewayLog, serve: Serve): Route {
  return defineRoute({
    method: "POST",
    path,
    access: DOOR,
    summary,
    takes: { types: [STREAM_TYPE], limitBytes },
    body: z.instanceof(Readable),
    answers: { 200: event.meta({ contentTypes: [STREAM_TYPE] }) },
    async handle(asked) {
      using answer = createEventAnswer(() => asked.takeOver().response);
      try {
        await serve(asked, answer);
        answer.end();
      } catch (error) {
        fail(answer, error, { asked, log });
      }
    },
  });
}

/** Throws the error where an answer by its status is due. */
function fail(answer: EventAnswer, error: unknown, { asked, log }: { readonly asked: Asked; readonly log: GatewayLog }): void {
  if (asked.signal.aborted) return answer.cut();
  const isOfSandbox = error instanceof BelljarError && isGone(error);
  if (isOfSandbox && !answer.hasBegun()) throw error;
  if (isOfSandbox) return answer.cut();
  return answer.end(toConnectFailure(error, asked.requestId, log));
}

function toConnectFailure(error: unknown, requestId: string, log: GatewayLog): ConnectFailure {
  const { failure } = toFailure(error, requestId, log);
  return { code: connectCodeOf(failure), message: failure.message };
}

async function* parsed<Input>(schema: z.ZodType<Input>, body: Readable): AsyncGenerator<Input> {
  for await (const message of readMessages(body)) yield parseRequest(schema, message);
}

function bodyOf({ body }: Asked): Readable {
  if (body instanceof Readable) return body;
  throw new TypeError("The body of a stream was read before its route");
}

function timeoutOf({ request }: Asked): number | undefined {
  const given = request.headers["connect-timeout-ms"];
  if (given === undefined) return undefined;
  if (typeof given === "string" && /^\d{1,10}$/.test(given)) return Math.min(Number(given), TIMEOUT_MAX_MS);
  throw new BelljarError("ARGUMENTS_INVALID", "Connect-Timeout-Ms is not a number of milliseconds");
}

function keepaliveMs({ request }: Asked): number {
  const given = Number(request.headers["keepalive-ping-interval"] ?? KEEPALIVE_S);
  return 1_000 * (given >= 1 && given <= 3_600 ? given : KEEPALIVE_S);
}

interface Limits extends Disposable {
  readonly signal: AbortSignal;
  /** The time was over first. */
  isOver(): boolean;
}

function limitsOf(gone: AbortSignal, timeoutMs: number | undefined): Limits {
  if (timeoutMs === undefined) return { signal: gone, isOver: () => false, [Symbol.dispose]: () => undefined };
  const limited = limitTime(gone, timeoutMs);
  return {
    signal: limited.signal,
    isOver: () => limited.signal.aborted && !gone.aborted,
    [Symbol.dispose]: () => limited[Symbol.dispose](),
  };
}
