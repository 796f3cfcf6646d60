import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { BelljarError } from "../errors.ts";
import type { GatewayLog } from "./gateway-log.ts";
import { BODY_LIMIT_BYTES, tooLarge } from "./surfaces/bodies.ts";
import type { ErrorShape, FailedRequest, Failure, RoutedSurface } from "./surfaces/surface.ts";

/** Of every answer: texts and JSON repeat what a client or a sandbox said. */
export const NO_SNIFFING = { name: "x-content-type-options", value: "nosniff" } as const;

interface ToldFailure {
  readonly failure: Failure;
  /** Of the answer, beside its type. */
  readonly headers: Readonly<Record<string, string>>;
}

/** `{ error: { code, message, retryable, requestId } }` */
export const plainErrors: ErrorShape = ({ code, message, retryable, requestId }) => ({ error: { code, message, retryable, requestId } });

/** A foreseen failure with its own words; anything else is logged under the request id and told nobody. */
export function toFailure(error: unknown, requestId: string, log: GatewayLog): ToldFailure {
  const isUnreadable = error instanceof BelljarError && isFastifyError(error.cause) && error.status === 400;
  if (error instanceof BelljarError && error.code !== "INTERNAL") {
    const { code, message, retryable, status } = error;
    return { failure: { status, code, message, retryable, requestId, isUnreadable }, headers: retryAfter(error) };
  }
  log.error({ err: error, requestId }, "request failed");
  const message = "Internal error; the server's log has it under the request id";
  return { failure: { status: 500, code: "INTERNAL", message, retryable: false, requestId, isUnreadable }, headers: {} };
}

/** In whole seconds, when it is known how long to wait. */
function retryAfter({ retryAfterMs }: BelljarError): Record<string, string> {
  return retryAfterMs === undefined ? {} : { "retry-after": String(Math.ceil(retryAfterMs / 1_000)) };
}

/** How a surface tells of a failure. */
export type Telling = Pick<RoutedSurface, "shapeError" | "statusOf">;

export function answerErrors(app: FastifyInstance, telling: Telling, log: GatewayLog): void {
  app.setErrorHandler((error: unknown, request, reply) => {
    const { failure, headers } = toFailure(fromFastify(error, request.routeOptions.bodyLimit), request.id, log);
    // Fastify would close while the client still sends, and the system would then take the answer from it: the rest is read instead.
    reply.removeHeader("connection");
    const { status, body } = toldAs(telling, failure, request.raw);
    const type = typeof body === "string" ? "text/plain; charset=utf-8" : "application/json";
    return reply.code(status).headers(headers).type(type).send(body);
  });
  app.setNotFoundHandler((request) => {
    throw unknownRoute(request);
  });
}

/** The answer to a failed request in the words of its surface. */
export function toldAs({ shapeError, statusOf }: Telling, failure: Failure, request: FailedRequest): { status: number; body: unknown } {
  const status = statusOf?.(failure, request) ?? failure.status;
  return { status, body: shapeError({ ...failure, status }, request) };
}

/** For paths that Fastify cannot read, which pass by every hook and handler. */
export function answerUnreadablePath(
  { request, reply }: { readonly request: FastifyRequest; readonly reply: FastifyReply },
  telling: Telling,
  log: GatewayLog,
): void {
  const { failure } = toFailure(unknownRoute(request), request.id, log);
  const { status, body } = toldAs(telling, failure, request.raw);
  void reply.code(status).header(NO_SNIFFING.name, NO_SNIFFING.value).send(body);
}

function unknownRoute({ method, url }: Pick<FastifyRequest, "method" | "url">): BelljarError {
  return new BelljarError("ROUTE_NOT_FOUND", `There is no ${method} ${url.split("?")[0]?.slice(0, 200)}`);
}

/** Fastify's own refusals of a request, by its error codes' statuses. */
function fromFastify(error: unknown, limitBytes = BODY_LIMIT_BYTES): unknown {
  if (error instanceof BelljarError || !isFastifyError(error)) return error;
  switch (Number(error.statusCode)) {
    case 400:
      return new BelljarError("ARGUMENTS_INVALID", "The request could not be read: send well-formed JSON", { cause: error });
    case 413:
      return tooLarge(limitBytes, error);
    case 415:
      return new BelljarError("MEDIA_TYPE_UNSUPPORTED", "Send the body with content-type: application/json", { cause: error });
    default:
      return error;
  }
}

function isFastifyError(error: unknown): error is FastifyError {
  return error instanceof Error && "statusCode" in error && typeof error.statusCode === "number";
}
