import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { BelljarError } from "../errors.ts";
import type { GatewayLog } from "./gateway-log.ts";

export interface ErrorAnswer {
  readonly error: { readonly code: string; readonly message: string; readonly retryable: boolean; readonly requestId: string };
}

interface ToldError {
  readonly status: number;
  readonly answer: ErrorAnswer;
  /** Of the answer, beside its type. */
  readonly headers: Readonly<Record<string, string>>;
}

/** A foreseen failure with its own words; anything else is logged under the request id and told nobody. */
export function toErrorAnswer(error: unknown, requestId: string, log: GatewayLog): ToldError {
  if (error instanceof BelljarError && error.code !== "INTERNAL") {
    const { code, message, retryable, status } = error;
    const headers = retryAfter(error);
    return { status, headers, answer: { error: { code, message, retryable, requestId } } };
  }
  log.error({ err: error, requestId }, "request failed");
  const message = "Internal error; the server's log has it under the request id";
  return { status: 500, headers: {}, answer: { error: { code: "INTERNAL", message, retryable: false, requestId } } };
}

/** In whole seconds, when it is known how long to wait. */
function retryAfter({ retryAfterMs }: BelljarError): Record<string, string> {
  return retryAfterMs === undefined ? {} : { "retry-after": String(Math.ceil(retryAfterMs / 1_000)) };
}

export function answerErrors(app: FastifyInstance, log: GatewayLog): void {
  app.setErrorHandler((error: unknown, request, reply) => {
    const { status, headers, answer } = toErrorAnswer(fromFastify(error), request.id, log);
    return reply.code(status).headers(headers).send(answer);
  });
  app.setNotFoundHandler((request) => {
    throw unknownRoute(request);
  });
}

/** For paths that Fastify cannot read, which pass by every hook and handler. */
export function answerUnreadablePath(request: FastifyRequest, reply: FastifyReply, log: GatewayLog): void {
  const { status, answer } = toErrorAnswer(unknownRoute(request), request.id, log);
  void reply.code(status).send(answer);
}

function unknownRoute({ method, url }: Pick<FastifyRequest, "method" | "url">): BelljarError {
  return new BelljarError("ROUTE_NOT_FOUND", `There is no ${method} ${url.split("?")[0]?.slice(0, 200)}`);
}

/** Fastify's own refusals of a request, by its error codes' statuses. */
export function fromFastify(error: unknown): unknown {
  if (error instanceof BelljarError || !isFastifyError(error)) return error;
  switch (Number(error.statusCode)) {
    case 400:
      return new BelljarError("ARGUMENTS_INVALID", "The request could not be read: send well-formed JSON", { cause: error });
    case 413:
      return new BelljarError("REQUEST_TOO_LARGE", "The request's body is larger than 4 MiB", { cause: error });
    case 415:
      return new BelljarError("MEDIA_TYPE_UNSUPPORTED", "Send the body with content-type: application/json", { cause: error });
    default:
      return error;
  }
}

function isFastifyError(error: unknown): error is FastifyError {
  return error instanceof Error && "statusCode" in error && typeof error.statusCode === "number";
}
