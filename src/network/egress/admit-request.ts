import type { IncomingHttpHeaders, IncomingMessage, OutgoingHttpHeaders } from "node:http";
import { BelljarError } from "../../errors.ts";
import { toAuthority } from "../host-name.ts";
import type { FilledRequest, RequestHead } from "../secrets/secret-guard.ts";
import type { Flow } from "./flow.ts";
import { headBytes, withoutHopByHop } from "./http-headers.ts";
import { badRequest, type HttpTarget, readTarget } from "./http-target.ts";
import type { HttpVisit } from "./http-visit.ts";
import { forScheme, isConditional, judgeRequest } from "./policy-table.ts";
import { Refusal } from "./refusal.ts";

const NOWHERE = { host: "", port: 0 };

/** An admitted request as it is sent out: its target, its path, and its headers with the secrets filled in. */
export interface Outgoing {
  readonly target: HttpTarget;
  readonly path: string;
  readonly headers: OutgoingHttpHeaders;
  readonly filled: FilledRequest | undefined;
}

/** Judges a request and begins its flow. Returns a `Refusal` instead of the request if it is refused. */
export async function admitRequest(
  visit: HttpVisit,
  request: IncomingMessage,
): Promise<{ readonly flow: Flow; readonly outgoing: Outgoing | Refusal }> {
  await visit.gate.turn();
  const target = isPlainlyFramed(request)
    ? readTarget(request, visit.fixed)
    : badRequest("The body's only transfer coding may be chunked.");
  const flow = visit.gate.start({ via: visit.via, place: target instanceof Refusal ? (visit.fixed?.place ?? NOWHERE) : target.place });
  flow.sent(headBytes(request.rawHeaders) + (request.url?.length ?? 0));
  const outgoing = target instanceof Refusal ? target : await prepare(visit, request, { flow, target });
  return { flow, outgoing };
}

async function prepare(
  visit: HttpVisit,
  request: IncomingMessage,
  { flow, target }: { readonly flow: Flow; readonly target: HttpTarget },
): Promise<Outgoing | Refusal> {
  const { gate } = visit;
  const line = { method: request.method ?? "GET", path: target.path };
  const judge = (): ReturnType<typeof judgeRequest> => judgeRequest(forScheme(gate.find(target.place), target.scheme), line);
  const judged = judge();
  if (judged instanceof Refusal) return judged;
  const asked = `${line.method} ${line.path.split("?", 1)[0]?.slice(0, 200)}`;
  if (!judged) return gate.noRule(target.place, gate.find(target.place).length > 0 ? asked : undefined);
  if (isConditional(judged.allowance) && hasOverride(request)) return overridden();
  flow.rule = judged.allowance.rule;
  flow.isStillAllowed = () => {
    const again = judge();
    return again !== undefined && !(again instanceof Refusal);
  };
  const { host, port } = target.place;
  const authority =
    port === (target.scheme === "https" ? 443 : 80) ? toAuthority(host, port).replace(/:\d+$/, "") : toAuthority(host, port);
  // Node's server has already answered an Expect header.
  const { expect: _answered, ...passed } = withoutHopByHop(request.headers);
  const headers = { ...passed, ...framing(request), host: authority };
  const filled = await fill(visit, target, { path: judged.path, headers });
  if (filled instanceof Refusal) return filled;
  return { target, path: filled?.path ?? judged.path, headers: filled?.headers ?? headers, filled };
}

/** Headers that make some servers use another method or path than the request line. */
const OVERRIDES = ["x-http-method", "x-http-method-override", "x-method-override", "x-original-url", "x-original-uri", "x-rewrite-url"];

function hasOverride({ headers }: IncomingMessage): boolean {
  return Object.keys(headers).some((name) => OVERRIDES.includes(name.replaceAll("_", "-")));
}

function overridden(): Refusal {
  const text = "A rule judges this request's method and path, so no header may name another one";
  return new Refusal("bad-request", `${text}: send it without ${OVERRIDES.join(", ")}.`);
}

async function fill(visit: HttpVisit, { place, scheme }: HttpTarget, head: RequestHead): Promise<FilledRequest | Refusal | undefined> {
  try {
    return await visit.gate.guard?.fillRequest({ ...place, isEncrypted: scheme === "https" }, head);
  } catch (error) {
    return placeholderRefusal(error) ?? missingRefusal(error) ?? new Refusal("internal", "The request's secrets could not be looked up.");
  }
}

export function placeholderRefusal(error: unknown): Refusal | undefined {
  return error instanceof BelljarError && error.code === "FORBIDDEN" ? new Refusal("placeholder", error.message) : undefined;
}

function missingRefusal(error: unknown): Refusal | undefined {
  return error instanceof BelljarError && error.code === "SECRET_NOT_FOUND" ? new Refusal("secret-missing", error.message) : undefined;
}

/** Refuses other transfer codings, because one HTTP implementation may decode them and the next may not. */
function isPlainlyFramed({ headers }: IncomingMessage): boolean {
  return (headers["transfer-encoding"] ?? "chunked").toLowerCase() === "chunked";
}

/** Always explicit: Node writes the body of a GET or a DELETE without framing, and a server would read the body as the next request. */
function framing({ headers }: IncomingMessage): IncomingHttpHeaders {
  return headers["transfer-encoding"] === undefined ? {} : { "transfer-encoding": "chunked" };
}

export function hasBody(request: IncomingMessage): boolean {
  return request.headers["transfer-encoding"] !== undefined || (request.headers["content-length"] ?? "0") !== "0";
}
