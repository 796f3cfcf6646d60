import type { IncomingMessage } from "node:http";
import { STATUS_CODES } from "node:http";
import { randomUUID } from "node:crypto";
import { BelljarError } from "../../errors.ts";

/** A response of Belljar itself, instead of a response of the program inside. */
export interface PortAnswer {
  readonly status: number;
  readonly headers: readonly string[];
  readonly body: string;
}

/** Called with unforeseen errors. The client gets only the request's id. */
export type OnPortFailure = (error: unknown, requestId: string) => void;

const TITLES: Readonly<Record<string, string>> = {
  PORT_LINK_INVALID: "This link needs its token",
  PORT_REFUSED: "Nothing answers on this port",
  SANDBOX_ENDED: "The sandbox has ended",
};
const INTERNAL = "Internal error; the server's log has it under the request id";

/** A failed request, before it has a form. */
export interface PortFailure extends Pick<BelljarError, "code" | "message" | "retryable" | "status"> {
  readonly requestId: string;
}

/** An unforeseen error is told to `onFailure` alone. */
export function toPortFailure(error: unknown, onFailure: OnPortFailure): PortFailure {
  const requestId = randomUUID();
  const known = error instanceof BelljarError && error.code !== "INTERNAL" ? error : undefined;
  if (!known) onFailure(error, requestId);
  const { code, message, retryable, status } = known ?? { code: "INTERNAL", message: INTERNAL, retryable: false, status: 500 };
  return { code, message, retryable, status, requestId };
}

/** The response to a failure: a small page for a client that accepts HTML, else the JSON of the REST API. */
export function toOwnAnswer({ requestId, ...failure }: PortFailure, request: IncomingMessage): PortAnswer {
  const { code, message, retryable } = failure;
  return failureAnswer(failure, request, { error: { code, message, retryable, requestId } });
}

/** The same with a JSON of the caller's. */
export function failureAnswer(
  { status, code, message }: Pick<PortFailure, "status" | "code" | "message">,
  request: IncomingMessage,
  body: object,
): PortAnswer {
  if (wantsPage(request)) return page(status, TITLES[code] ?? STATUS_CODES[status] ?? code, message);
  return answer(status, "application/json", JSON.stringify(body));
}

export function redirectAnswer(status: number, location: string, cookie?: string): PortAnswer {
  const headers = ["Location", location, "Cache-Control", "no-store", "Referrer-Policy", "no-referrer"];
  return { status, headers: cookie === undefined ? headers : [...headers, "Set-Cookie", cookie], body: "" };
}

function wantsPage({ headers }: IncomingMessage): boolean {
  return (headers.accept ?? "").includes("text/html");
}

function page(status: number, title: string, message: string): PortAnswer {
  const style = "body{font:16px/1.5 system-ui,sans-serif;max-width:40rem;margin:4rem auto;padding:0 1rem;color-scheme:light dark}";
  const head = `<meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${escapeHtml(title)}</title>`;
  const body = `<h1>${escapeHtml(title)}</h1><p>${escapeHtml(message)}</p>`;
  return answer(status, "text/html; charset=utf-8", `<!doctype html><html lang="en">${head}<style>${style}</style>${body}</html>\n`);
}

function answer(status: number, type: string, body: string): PortAnswer {
  const policy = "default-src 'none'; style-src 'unsafe-inline'";
  return {
    status,
    headers: ["Content-Type", type, "Cache-Control", "no-store", "Content-Security-Policy", policy, "X-Content-Type-Options", "nosniff"],
    body,
  };
}

function escapeHtml(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");
}
