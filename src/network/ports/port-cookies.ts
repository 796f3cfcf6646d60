import type { PortTarget } from "./port-target.ts";

/** Holds a link's token after the first visit. */
export const LINK_COOKIE = "belljar-port";

export interface Cookie {
  readonly name: string;
  readonly value: string;
}

const OURS = /^belljar/i;
/** Names that bind a cookie to a path or to TLS, which a port in path style cannot have. */
const BOUND = /^__(host|secure|http)-/i;
/** What a cookie's path and domain become is ours to say. */
const SCOPE = /^(domain|path)$/i;
const DOMAIN = /^domain$/i;

export function cookiesOf(header: string | undefined): readonly Cookie[] {
  return (header ?? "").split(";").flatMap((pair) => {
    const at = pair.indexOf("=");
    return at < 0 ? [] : [{ name: pair.slice(0, at).trim(), value: pair.slice(at + 1).trim() }];
  });
}

/**
 * The Cookie header that the program inside sees. In path style browsers send along what other pages of this server, and of other
 * servers on this machine, have set: of those it sees the ones that it set itself, which carry its address in their names.
 */
export function toInnerCookies(header: string | undefined, target: PortTarget): string | undefined {
  const cookies = cookiesOf(header);
  const prefix = cookiePrefix(target);
  const inner =
    target.style === "host"
      ? cookies.filter(({ name }) => !OURS.test(name))
      : cookies.flatMap(({ name, value }) => (name.startsWith(prefix) ? [{ name: name.slice(prefix.length), value }] : []));
  return inner.length === 0 ? undefined : inner.map(({ name, value }) => `${name}=${value}`).join("; ");
}

/** A Set-Cookie header that holds for this port alone; undefined for one that must not be set. */
export function toOuterCookie(header: string, target: PortTarget): string | undefined {
  const [pair = "", ...attributes] = header.split(";").map((part) => part.trim());
  const name = pair.split("=", 1)[0]?.trim() ?? "";
  if (!pair.includes("=") || name === "" || OURS.test(name)) return undefined;
  if (target.style === "host") return [pair, ...without(attributes, DOMAIN)].join("; ");
  if (BOUND.test(name)) return undefined;
  return [cookiePrefix(target) + pair, ...without(attributes, SCOPE), `Path=${target.base}/`].join("; ");
}

function cookiePrefix({ sandbox, port }: PortTarget): string {
  return `port.${port}-${sandbox}.`;
}

function without(attributes: readonly string[], name: RegExp): readonly string[] {
  return attributes.filter((attribute) => attribute !== "" && !name.test(attribute.split("=", 1)[0]?.trim() ?? ""));
}
