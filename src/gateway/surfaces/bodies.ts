import type { IncomingHttpHeaders, IncomingMessage } from "node:http";
import { finished, PassThrough, type Readable, Transform } from "node:stream";
import type { FastifyInstance } from "fastify";
import { VALUES_MAX } from "../../catalog/value-count.ts";
import { BelljarError } from "../../errors.ts";
import { jsonHasMoreValues } from "../json-values.ts";
import type { Route } from "../routes/route.ts";
import type { Arrivals } from "./arrivals.ts";

/** What a request may hold, unless its route says otherwise. */
export const BODY_LIMIT_BYTES = 4 * 1024 * 1024;
/** So much of a refused request is thrown away. A client that sends more loses its connection, and perhaps the answer. */
const REFUSED_MAX_BYTES = 64 * 1024 * 1024;
const JSON_TYPE = "application/json";
/** Of a body that is read as it comes, so much is read ahead of its reader: the client sends while the reader works. */
const AHEAD_BYTES = 256 * 1024;

/**
 * A page can send other types without asking first. A route that takes no body may be asked without one, and then without a type.
 * Throws `MEDIA_TYPE_UNSUPPORTED`.
 */
export function assertTaken(headers: IncomingHttpHeaders, route: Route | undefined): void {
  const { types = [JSON_TYPE] } = route?.takes ?? {};
  if ((takesNoBody(route) || route?.takes?.isOptional) && !hasBody(headers)) return;
  const type = headers["content-type"]?.split(";")[0]?.trim().toLowerCase();
  if (type === undefined ? route?.takes?.isUntyped : types.includes(type)) return;
  throw new BelljarError("MEDIA_TYPE_UNSUPPORTED", `Send the body with content-type: ${types.join(" or ")}`);
}

function takesNoBody(route: Route | undefined): boolean {
  return route !== undefined && route.body === undefined && route.takes === undefined;
}

function hasBody(headers: IncomingHttpHeaders): boolean {
  return headers["transfer-encoding"] !== undefined || (headers["content-length"] ?? "0") !== "0";
}

/**
 * JSON is parsed; of another type, which its route must name, the bytes are given as they come, up to the route's limit, in any time. What
 * nobody reads once the answer is out is thrown away as it comes, up to 64 MiB, and then the connection is closed: a client that still sends
 * would lose the answer with it. Some clients end by the answer's `Connection: close` alone.
 */
export function readBodies(app: FastifyInstance, arrivals: Pick<Arrivals, "pace">): void {
  const parse = app.getDefaultJsonParser("error", "error");
  app.removeAllContentTypeParsers();
  app.addContentTypeParser(JSON_TYPE, { parseAs: "string" }, (request, body, done) => {
    // Some clients name a type without sending a body.
    const { route } = request.routeOptions.config;
    if (body === "" && (takesNoBody(route) || route?.takes?.isOptional)) return done(null, undefined);
    if (jsonHasMoreValues(String(body), VALUES_MAX)) return done(tooManyValues());
    return parse(request, String(body), done);
  });
  app.addHook("onSend", async ({ raw }, reply, payload) => {
    if (raw.complete || (typeof payload !== "string" && !Buffer.isBuffer(payload))) return payload;
    const answer = Buffer.from(payload);
    void reply.header("connection", "close").header("content-length", answer.length);
    return answerUntilRead(raw, answer);
  });
  app.addContentTypeParser("*", (request, payload, done) => {
    try {
      const { route } = request.routeOptions.config;
      assertTaken(request.headers, route);
      if (takesNoBody(route)) return done(null, undefined);
      const counted = countBytes(request.routeOptions.bodyLimit ?? BODY_LIMIT_BYTES, arrivals.pace(request.raw));
      done(null, carry(payload, counted));
    } catch (error) {
      done(error as BelljarError);
    }
  });
}

/** The client has the whole answer at once, by its length. It ends with the request, as Node closes the connection then. */
function answerUntilRead(request: IncomingMessage, bytes: Buffer): Readable {
  const answer = new PassThrough();
  answer.write(bytes);
  finished(request, { writable: false }, () => answer.end());
  let left = REFUSED_MAX_BYTES;
  request.unpipe().on("data", ({ length }: Buffer) => void ((left -= length) < 0 && request.socket.destroy()));
  // Whoever paused it reads no more.
  request.resume();
  return answer;
}

/** Unlike `pipeline` it leaves the request as it is when its reader fails: the rest of it must still be read. */
function carry(request: Readable, into: Transform): Transform {
  finished(request, { writable: false }, (error) => void (error && into.destroy(error)));
  into.once("close", () => request.unpipe(into));
  // Its route may never read it.
  into.on("error", () => undefined);
  return request.pipe(into);
}

/** Fails with `REQUEST_TOO_LARGE` behind so many bytes. */
function countBytes(limit: number, onChunk: () => void): Transform {
  let size = 0;
  return new Transform({
    highWaterMark: AHEAD_BYTES,
    transform(chunk: Buffer, _encoding, done) {
      onChunk();
      size += chunk.length;
      if (size > limit) done(tooLarge(limit));
      else done(null, chunk);
    },
  });
}

export function tooLarge(limitBytesOfRoute: number, cause?: unknown): BelljarError {
  const limit = limitBytesOfRoute % 1_048_576 === 0 ? `${limitBytesOfRoute / 1_048_576} MiB` : `${limitBytesOfRoute} bytes`;
  return new BelljarError("REQUEST_TOO_LARGE", `The request's body is larger than ${limit}`, { cause });
}

/** Parsing, and checking a schema, ours or the SDK's, takes a time that grows with the values, however short they are. */
function tooManyValues(): BelljarError {
  return new BelljarError("ARGUMENTS_INVALID", `The request's body holds more than ${VALUES_MAX} values; send fewer at once`);
}
