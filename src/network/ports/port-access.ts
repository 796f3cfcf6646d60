import { createHash, randomBytes, timingSafeEqual } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { BelljarError } from "../../errors.ts";
import { cookiesOf, LINK_COOKIE } from "./port-cookies.ts";
import type { PortLink } from "./port-link.ts";
import type { PortTarget } from "./port-target.ts";
import { onThisHost } from "./port-urls.ts";

/** For programs, which keep no cookies. */
export const TOKEN_HEADER = "belljar-port-token";

/** What an answer to a first visit says: come again at `location`, with this cookie. */
export interface FirstVisit {
  readonly location: string;
  readonly cookie: string;
}

/** Compared with when there is no link, so that the time of a refusal tells nothing. */
const NOBODY = randomBytes(32).toString("base64url");
const COOKIES_MAX = 8;

/** Throws `PORT_LINK_INVALID`, in the same words whether the link or the token is wrong. */
export function assertAccess(link: PortLink | undefined, request: IncomingMessage, target: PortTarget): void {
  if (link?.access === "public") return;
  const isHeld = tokensOf(request, target).filter((token) => isSame(token, link?.token ?? NOBODY)).length > 0;
  if (!isHeld || link?.token === undefined) throw linkInvalid();
}

/**
 * A browser's first visit, which ends with its token in a cookie and out of the address. In path style a page has no origin, so
 * that browsers send no cookie for what it loads: there the token becomes a part of the path. To be called after `assertAccess`.
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
 * A browser adds cookies to what pages of this machine's other servers ask for too, since it takes all ports of a name for one site: a page
 * of another sandbox could so use a link that it does not have. It may lead a person to a port, as every page may, and no more.
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
