import type { IncomingMessage } from "node:http";
import { hopByHop } from "../http/hop-by-hop.ts";
import { isSecure } from "../http/is-secure.ts";
import { TOKEN_HEADER } from "./port-access.ts";
import { toInnerCookies, toOuterCookie } from "./port-cookies.ts";
import type { PortTarget } from "./port-target.ts";
import { onThisHost, TOKEN_PARAMETER } from "./port-urls.ts";

/** Names and values alternate, as in Node's `rawHeaders`. */
export type RawHeaders = readonly string[];

const REQUEST_DROPPED = new Set([
  // The router sets these itself: the program inside must be able to trust them.
  "content-length",
  "cookie",
  "forwarded",
  "host",
  "via",
  "x-real-ip",
  // Handled before the program gets the request.
  "expect",
  TOKEN_HEADER,
  // With these E2B's clients name the port and open it.
  "e2b-sandbox-id",
  "e2b-sandbox-port",
  "e2b-traffic-access-token",
]);
/** Tokens of the Belljar server, in any header. A client may send one with every request, but no sandbox may see it. */
const OWN_TOKEN = /^bearer +belljar_|\bbelljar_[a-z0-9]{10}_|\be2b_[0-9a-f]{40}\b|\be2b[atv]_[a-z0-9]{1,64}_[\w-]{43}/i;
const REQUEST_DROPPED_PREFIXES = ["proxy-", "x-forwarded-", "x-accel-"];

/** Headers that would affect this server, or the browser beyond the pages of this port. */
const RESPONSE_DROPPED = new Set([
  "alt-svc",
  "clear-site-data",
  "expect-ct",
  "nel",
  "public-key-pins",
  "public-key-pins-report-only",
  "report-to",
  "reporting-endpoints",
  "service-worker-allowed",
  "strict-transport-security",
  "use-as-dictionary",
]);
const RESPONSE_DROPPED_PREFIXES = ["proxy-", "x-accel-", "x-sendfile", "x-lighttpd-"];
/** Headers that browsers apply to a whole origin. In path style this is the server's origin. `www-authenticate` is one of them. */
const ORIGIN_WIDE = new Set(["accept-ch", "critical-ch", "origin-agent-cluster", "referrer-policy", "www-authenticate"]);

/** Scripts run with an opaque origin: neither that of the dashboard nor that of another port. */
const PATH_STYLE_POLICY = "sandbox allow-scripts allow-forms allow-popups allow-modals allow-downloads allow-pointer-lock";

/** Returns a request's headers for the program inside, without those that frame its body. */
export function toInnerHeaders(request: IncomingMessage, target: PortTarget): string[] {
  const { rawHeaders, headers } = request;
  const inner = ["Host", innerHostOf(headers.host, target)];
  for (const [name, value] of pairsOf(rawHeaders, headers.connection)) {
    if (isDropped(name, REQUEST_DROPPED, REQUEST_DROPPED_PREFIXES)) continue;
    // The Referer may hold the token: always in path style, in host style only for a page that a form led to.
    if (name.toLowerCase() === "referer" && (target.style === "path" || value.includes(`${TOKEN_PARAMETER}=`))) continue;
    if (OWN_TOKEN.test(value)) continue;
    inner.push(name, value);
  }
  const cookie = toInnerCookies(headers.cookie, target);
  if (cookie !== undefined) inner.push("Cookie", cookie);
  inner.push("X-Forwarded-Host", headers.host ?? "", "X-Forwarded-Proto", isSecure(request) ? "https" : "http");
  if (target.prefix !== "") inner.push("X-Forwarded-Prefix", target.prefix);
  return inner;
}

/** Returns an answer's headers for the browser, without those that frame its body. */
export function toOuterHeaders(answer: IncomingMessage, request: IncomingMessage, target: PortTarget): string[] {
  const outer: string[] = [];
  const isOwnOrigin = target.style === "host";
  for (const [name, value] of pairsOf(answer.rawHeaders, answer.headers.connection)) {
    const key = name.toLowerCase();
    if (isDropped(name, RESPONSE_DROPPED, RESPONSE_DROPPED_PREFIXES)) continue;
    if (!isOwnOrigin && ORIGIN_WIDE.has(key)) continue;
    if (target.style === "header" && key.startsWith("access-control-")) continue;
    const ours = key === "set-cookie" ? toOuterCookie(value, target) : key === "location" ? toOuterLocation(value, request, target) : value;
    if (ours !== undefined) outer.push(name, ours);
  }
  if (target.style === "path") outer.push(...pathStyleHeaders(request, answer.headers));
  if (target.style === "header") outer.push(...PAGES_MAY_READ, ...HEADER_STYLE);
  return outer;
}

function innerHostOf(outer = "", { style, port, innerHost }: PortTarget): string {
  return innerHost ?? (style === "host" ? outer : `localhost:${port}`);
}

/** Pages of every site may read the answer, without a browser's credentials. */
export const PAGES_MAY_READ: RawHeaders = ["Access-Control-Allow-Origin", "*", "Access-Control-Expose-Headers", "*"];

/** A browser that keeps an answer in header style never shows it as a page of this server. */
const HEADER_STYLE: RawHeaders = ["Content-Security-Policy", PATH_STYLE_POLICY, "Vary", "E2b-Sandbox-Id, E2b-Sandbox-Port"];

/** Headers of every answer in path style, even of Belljar's own. */
export function pathStyleHeaders(request: IncomingMessage, answered: IncomingMessage["headers"] = {}): string[] {
  const headers = ["Content-Security-Policy", PATH_STYLE_POLICY, "Referrer-Policy", "no-referrer"];
  const isOwnPage = request.headers.origin === "null" && answered["access-control-allow-origin"] === undefined;
  // A page without an origin may load its own resources, because its path has the token.
  if (isOwnPage) headers.push("Access-Control-Allow-Origin", "null", "Vary", "Origin");
  return headers;
}

/** Rewrites a Location header: the program's own address becomes the address of the port. */
function toOuterLocation(location: string, request: IncomingMessage, target: PortTarget): string {
  const [, authority, rest = ""] = /^https?:\/\/([^/?#]*)((?:[/?#].*)?)$/is.exec(location) ?? [];
  if (authority === undefined) return location.startsWith("/") && !location.startsWith("//") ? below(target, location) : location;
  const isOuter = authority === request.headers.host && (target.style !== "host" || isSecure(request));
  if (!isOuter && !isInner(authority, target.port) && authority !== target.innerHost) return location;
  return below(target, rest.startsWith("/") ? rest : `/${rest}`);
}

function isInner(authority: string, port: number): boolean {
  const match = /^(?:localhost|127\.0\.0\.1|0\.0\.0\.0|\[::1?\])(?::(\d+))?$/i.exec(authority);
  return match !== null && Number(match[1] ?? 80) === port;
}

/** Adds the prefix, unless the program has added it itself. A path with two slashes would name another server. */
function below({ style, base, prefix }: PortTarget, path: string): string {
  if (style !== "path") return onThisHost(path);
  return path.startsWith(`${base}/`) ? path : prefix + path;
}

/** Yields the headers without hop-by-hop headers. */
function* pairsOf(raw: RawHeaders, connection: string | undefined): Generator<readonly [string, string], void, undefined> {
  const isHop = hopByHop(connection);
  for (let index = 0; index + 1 < raw.length; index += 2) {
    const [name = "", value = ""] = [raw[index], raw[index + 1]];
    if (!isHop(name)) yield [name, value];
  }
}

/** Treats an underscore as a dash, as many programs do. */
function isDropped(name: string, names: ReadonlySet<string>, prefixes: readonly string[]): boolean {
  const key = name.toLowerCase().replaceAll("_", "-");
  return names.has(key) || prefixes.some((prefix) => key.startsWith(prefix));
}
