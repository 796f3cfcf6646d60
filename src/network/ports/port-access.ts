import { createHash, randomBytes, timingSafeEqual } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { BelljarError } from "../../errors.ts";
import { cookiesOf, LINK_COOKIE } from "./port-cookies.ts";
import type { PortLink } from "./port-link.ts";
import type { PortTarget } from "./port-target.ts";
import { onThisHost } from "./port-urls.ts";

/** Carries the token for programs without cookies. */
export const TOKEN_HEADER = "belljar-port-token";

/** The redirect after a first visit. */
export interface FirstVisit {
  readonly location: string;
  readonly cookie: string;
}

/** Stands for the token if there is no link, so that both refusals take the same time. */
const NOBODY = randomBytes(32).toString("base64url");
const COOKIES_MAX = 8;

/** Throws `PORT_LINK_INVALID`, with the same message for a missing link and for a wrong token. */
export function assertAccess(link: PortLink | undefined, request: IncomingMessage, target: PortTarget): void {
  if (link?.access === "public") return;
  const isHeld = tokensOf(request, target).filter((token) => isSame(token, link?.token ?? NOBODY)).length > 0;
  if (!isHeld || link?.token === undefined) throw linkInvalid();
}

/**
 * Returns the redirect for a browser's first visit, which moves the token from the query into a cookie. In path style, a page has no
 * origin, so browsers send no cookies for its resources. There the token becomes a part of the path. Call it after `assertAccess`.
 */
export function firstVisit(link: PortLink, request: IncomingMessage, target: PortTarget): FirstVisit | undefined {
  if (request.method !== "GET" && request.method !== "HEAD") return undefined;
  if (link.token === undefined) return undefined;
  if (target.queryToken === undefined && !isPageWithoutToken(request, target)) return undefined;
  const prefix = target.style === "host" ? "" : `${target.base}/~${link.token}`;
  const path = target.path === "" || target.path.startsWith("?") ? `/${target.path}` : target.path;
  const location = prefix === "" ? onThisHost(path) : prefix + path;
  return { location, cookie: `${LINK_COOKIE}=${link.token}; Path=${target.base}/; HttpOnly; SameSite=Lax` };
}

function isPageWithoutToken({ headers }: IncomingMessage, target: PortTarget): boolean {
  const destination = headers["sec-fetch-dest"];
  return target.style === "path" && target.pathToken === undefined && (destination === "document" || destination === "iframe");
}

function tokensOf(request: IncomingMessage, { pathToken, queryToken }: PortTarget): readonly string[] {
  const { headers } = request;
  const header = headers[TOKEN_HEADER];
  const sent = isFromElsewhere(request) ? [] : cookiesOf(headers.cookie);
  const cookies = sent.flatMap(({ name, value }) => (name === LINK_COOKIE ? [value] : []));
  return [pathToken, queryToken, header, ...cookies.slice(0, COOKIES_MAX)].filter((token) => typeof token === "string");
}

/**
 * Returns true if another page has caused the request, so that cookies must not count. Browsers treat all ports of a host name as one
 * site. So they send cookies even for pages of other servers on this machine, such as another sandbox. Such a page may only link here.
 */
function isFromElsewhere({ method = "", headers }: IncomingMessage): boolean {
  const { origin, host = "", "sec-fetch-site": site, "sec-fetch-mode": mode } = headers;
  if (site === undefined) return origin !== undefined && origin.replace(/^https?:\/\//i, "").toLowerCase() !== host.toLowerCase();
  const isLink = mode === "navigate" && (method === "GET" || method === "HEAD");
  return site !== "same-origin" && site !== "none" && !isLink;
}

function isSame(one: string, other: string): boolean {
  return timingSafeEqual(digest(one), digest(other));
}

function digest(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}

function linkInvalid(): BelljarError {
  return new BelljarError(
    "PORT_LINK_INVALID",
    "This address needs the token of its link. Get the whole link with `belljar sandbox port ID PORT`; " +
      `programs can send the token in the header ${TOKEN_HEADER}`,
  );
}
