import type { IncomingMessage } from "node:http";
import { BelljarError } from "../../errors.ts";
import { TOKEN_PARAMETER } from "./port-urls.ts";

/** The target of a request for a port. The sandbox may not exist. */
export interface PortTarget {
  /** `header`: headers name the port, and the path is the program's alone. */
  readonly style: "host" | "path" | "header";
  readonly sandbox: string;
  readonly port: number;
  /** Path and query for the program inside, without the parts for the router. */
  readonly path: string;
  /** The part before `path` in the browser, without a slash at its end. Empty in host and header style. */
  readonly prefix: string;
  /** The prefix without the token. Cookies of the port have this path. */
  readonly base: string;
  /** Tokens in the path and in the query. */
  readonly pathToken?: string;
  readonly queryToken?: string;
  /** The Host that the program inside sees, in place of the request's. */
  readonly innerHost?: string;
}

/** A request for a port, as far as its target is read from it. */
export type PortAddress = Pick<IncomingMessage, "url" | "headers" | "rawHeaders" | "socket">;

const HOST = /^([1-9]\d{0,4})-([a-z0-9]{20})\.localhost$/;
const PATH = /^\/ports\/([a-z0-9]{20})\/([1-9]\d{0,4})(?:\/~([A-Za-z0-9_-]{43}))?(\/[^?]*)?(\?.*)?$/;
const PATH_ROOT = "/ports";

/** Returns true if a request is for a port and not for a route of the server. Only host name and path decide. */
export function isForPort(request: Pick<IncomingMessage, "url" | "headers">): boolean {
  const path = (request.url ?? "").split("?", 1)[0] ?? "";
  return hostNameOf(request).endsWith(".localhost") || path === PATH_ROOT || path.startsWith(`${PATH_ROOT}/`);
}

/** Throws `ARGUMENTS_INVALID` for an ambiguous request, and `ROUTE_NOT_FOUND` for an address that is not of a port. */
export function parsePortTarget(request: Pick<PortAddress, "url" | "headers" | "rawHeaders">): PortTarget {
  const url = assertPlainAddress(request);
  const name = hostNameOf(request);
  return name.endsWith(".localhost") ? byHost(name, url) : byPath(url);
}

/** Returns the path. Throws `ARGUMENTS_INVALID` for a request that names several hosts, or a whole URL. */
export function assertPlainAddress({ url = "", rawHeaders }: Pick<PortAddress, "url" | "rawHeaders">): string {
  assertOneHost(rawHeaders);
  if (!url.startsWith("/")) throw new BelljarError("ARGUMENTS_INVALID", "Ask for a path, not for a whole URL");
  return url;
}

/** Returns the host name of the Host header, in lower case and without the port. */
export function hostNameOf({ headers }: Pick<IncomingMessage, "headers">): string {
  return (headers.host ?? "").toLowerCase().replace(/:\d*$/, "");
}

function byHost(name: string, url: string): PortTarget {
  const [, port, sandbox] = HOST.exec(name) ?? [];
  if (port === undefined || sandbox === undefined || Number(port) > 65_535) throw notFound();
  return { style: "host", sandbox, port: Number(port), prefix: "", base: "", ...splitToken(url) };
}

function byPath(url: string): PortTarget {
  const [, sandbox, port, token, path, query = ""] = PATH.exec(url) ?? [];
  if (port === undefined || sandbox === undefined || Number(port) > 65_535) throw notFound();
  const base = `${PATH_ROOT}/${sandbox}/${port}`;
  const prefix = token === undefined ? base : `${base}/~${token}`;
  return {
    style: "path",
    sandbox,
    port: Number(port),
    prefix,
    base,
    ...(token !== undefined && { pathToken: token }),
    ...splitToken(`${path ?? ""}${query}`),
  };
}

/** Removes the token's parameter. The rest of the query stays unchanged, byte for byte. */
function splitToken(url: string): Pick<PortTarget, "path" | "queryToken"> {
  const at = url.indexOf("?");
  if (at < 0) return { path: url };
  const parts = url.slice(at + 1).split("&");
  const ours = parts.filter((part) => part.startsWith(`${TOKEN_PARAMETER}=`));
  const [first] = ours;
  if (first === undefined) return { path: url };
  const rest = parts.filter((part) => !ours.includes(part)).join("&");
  return { path: rest === "" ? url.slice(0, at) : `${url.slice(0, at)}?${rest}`, queryToken: first.slice(TOKEN_PARAMETER.length + 1) };
}

/** Throws `ARGUMENTS_INVALID` unless there is one Host header, because different readers could use different ones. */
export function assertOneHost(rawHeaders: readonly string[]): void {
  const hosts = rawHeaders.filter((name, index) => index % 2 === 0 && name.toLowerCase() === "host");
  if (hosts.length !== 1) throw new BelljarError("ARGUMENTS_INVALID", "Send exactly one Host header");
}

function notFound(): BelljarError {
  return new BelljarError(
    "ROUTE_NOT_FOUND",
    "No port has this address: it is http://PORT-ID.localhost/ or /ports/ID/PORT/, as `belljar sandbox port ID PORT` prints it",
  );
}
