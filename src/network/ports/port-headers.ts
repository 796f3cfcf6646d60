import type { IncomingMessage } from "node:http";
import { hopByHop } from "../http/hop-by-hop.ts";
import { TOKEN_HEADER } from "./port-access.ts";
import { toInnerCookies, toOuterCookie } from "./port-cookies.ts";
import type { PortTarget } from "./port-target.ts";
import { onThisHost, TOKEN_PARAMETER } from "./port-urls.ts";

/** Names and values in turn, as Node reads and writes them raw. */
export type RawHeaders = readonly string[];

const REQUEST_DROPPED = new Set([
  // Set anew by us: the program inside must be able to trust them.
  "content-length",
  "cookie",
  "forwarded",
  "host",
  "via",
  "x-real-ip",
  // Answered by us before the program is asked.
  "expect",
  TOKEN_HEADER,
]);
/** A token of the server itself: a program that sends it with every request must not give it to a sandbox. */
const OWN_TOKEN = /^bearer +belljar_/i;
const REQUEST_DROPPED_PREFIXES = ["proxy-", "x-forwarded-", "x-accel-"];

/** What would steer this server, or the browser beyond this port's own pages. */
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
/** Kept by the browser for all of an origin, which in path style is the server's; so are a person's name and password. */
const ORIGIN_WIDE = new Set(["accept-ch", "critical-ch", "origin-agent-cluster", "referrer-policy", "www-authenticate"]);

/** Scripts run, but with an origin that is nobody's: not the dashboard's, not another port's. */
const PATH_STYLE_POLICY = "sandbox allow-scripts allow-forms allow-popups allow-modals allow-downloads allow-pointer-lock";

/** A request's headers as the program inside is to see them, but for those that say how its body is framed. */
export function toInnerHeaders({ rawHeaders, headers }: IncomingMessage, target: PortTarget): string[] {
  const inner = ["Host", target.style === "host" ? (headers.host ?? "") : `localhost:${target.port}`];
  for (const [name, value] of pairsOf(rawHeaders, headers.connection)) {
    if (isDropped(name, REQUEST_DROPPED, REQUEST_DROPPED_PREFIXES)) continue;
    // The address that it would tell holds the token; in host style only that of a page which a form led to.
    if (name.toLowerCase() === "referer" && (target.style === "path" || value.includes(`${TOKEN_PARAMETER}=`))) continue;
    if (name.toLowerCase() === "authorization" && OWN_TOKEN.test(value)) continue;
    inner.push(name, value);
  }
  const cookie = toInnerCookies(headers.cookie, target);
  if (cookie !== undefined) inner.push("Cookie", cookie);
  inner.push("X-Forwarded-Host", headers.host ?? "", "X-Forwarded-Proto", "http");
  if (target.prefix !== "") inner.push("X-Forwarded-Prefix", target.prefix);
  return inner;
}

/** An answer's headers as a browser may see them, but for those that say how its body is framed. */
export function toOuterHeaders(answer: IncomingMessage, request: IncomingMessage, target: PortTarget): string[] {
  const outer: string[] = [];
  for (const [name, value] of pairsOf(answer.rawHeaders, answer.headers.connection)) {
    const key = name.toLowerCase();
    if (isDropped(name, RESPONSE_DROPPED, RESPONSE_DROPPED_PREFIXES)) continue;
    if (target.style === "path" && ORIGIN_WIDE.has(key)) continue;
    const ours = key === "set-cookie" ? toOuterCookie(value, target) : key === "location" ? toOuterLocation(value, request, target) : value;
    if (ours !== undefined) outer.push(name, ours);
  }
  if (target.style === "path") outer.push(...pathStyleHeaders(request, answer.headers));
  return outer;
}

/** On every answer in path style, ours too. */
export function pathStyleHeaders(request: IncomingMessage, answered: IncomingMessage["headers"] = {}): string[] {
  const headers = ["Content-Security-Policy", PATH_STYLE_POLICY, "Referrer-Policy", "no-referrer"];
  const isOwnPage = request.headers.origin === "null" && answered["access-control-allow-origin"] === undefined;
  // A page without an origin may load what lies beside it: it has the token in its path.
  if (isOwnPage) headers.push("Access-Control-Allow-Origin", "null", "Vary", "Origin");
  return headers;
}

/** Where the program inside sends the browser: its own address, as it knows it, becomes ours. */
function toOuterLocation(location: string, request: IncomingMessage, target: PortTarget): string {
  const [, authority, rest = ""] = /^https?:\/\/([^/?#]*)((?:[/?#].*)?)$/is.exec(location) ?? [];
  if (authority === undefined) return location.startsWith("/") && !location.startsWith("//") ? below(target, location) : location;
  if (!isInner(authority, target.port) && (target.style === "host" || authority !== request.headers.host)) return location;
  return below(target, rest.startsWith("/") ? rest : `/${rest}`);
}

function isInner(authority: string, port: number): boolean {
  const match = /^(?:localhost|127\.0\.0\.1|0\.0\.0\.0|\[::1?\])(?::(\d+))?$/i.exec(authority);
  return match !== null && Number(match[1] ?? 80) === port;
}

/** A program that honours X-Forwarded-Prefix has put it there itself. A path with two slashes would name another server. */
function below({ style, base, prefix }: PortTarget, path: string): string {
  if (style === "host") return onThisHost(path);
  return path.startsWith(`${base}/`) ? path : prefix + path;
}

/** Without the headers that are about one connection. */
function* pairsOf(raw: RawHeaders, connection: string | undefined): Generator<readonly [string, string], void, undefined> {
  const isHop = hopByHop(connection);
  for (let index = 0; index + 1 < raw.length; index += 2) {
    const [name = "", value = ""] = [raw[index], raw[index + 1]];
    if (!isHop(name)) yield [name, value];
  }
}

/** An underscore reads as a dash for many programs, so it hides nothing. */
function isDropped(name: string, names: ReadonlySet<string>, prefixes: readonly string[]): boolean {
  const key = name.toLowerCase().replaceAll("_", "-");
  return names.has(key) || prefixes.some((prefix) => key.startsWith(prefix));
}
