import type { IncomingMessage } from "node:http";
import { BelljarError } from "../../errors.ts";
import { TOKEN_PARAMETER } from "./port-urls.ts";

/** What a request for a port names, before anything is known of the sandbox. */
export interface PortTarget {
  readonly style: "host" | "path";
  readonly sandbox: string;
  readonly port: number;
  /** What the program inside is asked for: path and query, without what was meant for us. */
  readonly path: string;
  /** Stands before `path` in the browser, without a slash at its end; empty in host style. */
  readonly prefix: string;
  /** The prefix without the token: what the link's cookies are for. */
  readonly base: string;
  /** In the path, and in the query. */
  readonly pathToken?: string;
  readonly queryToken?: string;
}

const HOST = /^([1-9]\d{0,4})-([a-z0-9]{20})\.localhost$/;
const PATH = /^\/ports\/([a-z0-9]{20})\/([1-9]\d{0,4})(?:\/~([A-Za-z0-9_-]{43}))?(\/[^?]*)?(\?.*)?$/;
const PATH_ROOT = "/ports";

/** Whether a request is for a port, and none of the server's own: judged by its host name and path alone. */
export function isForPort(request: Pick<IncomingMessage, "url" | "headers">): boolean {
  const path = (request.url ?? "").split("?", 1)[0] ?? "";
  return hostNameOf(request).endsWith(".localhost") || path === PATH_ROOT || path.startsWith(`${PATH_ROOT}/`);
}

/** Throws `ARGUMENTS_INVALID` for what two readers could understand in two ways, `ROUTE_NOT_FOUND` for a name that is no port's. */
export function parsePortTarget(request: Pick<IncomingMessage, "url" | "headers" | "rawHeaders">): PortTarget {
  assertOneHost(request.rawHeaders);
  const url = request.url ?? "";
  if (!url.startsWith("/")) throw new BelljarError("ARGUMENTS_INVALID", "Ask for a path, not for a whole URL");
  const name = hostNameOf(request);
  return name.endsWith(".localhost") ? byHost(name, url) : byPath(url);
}

/** The name in Host, in lower case and without its port. */
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

/** Takes our parameter out and leaves the rest of the query as it came, byte for byte. */
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

/** Of two names a proxy in front, and each reader here, could take another one. Throws `ARGUMENTS_INVALID`. */
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
