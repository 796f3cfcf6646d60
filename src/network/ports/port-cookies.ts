import type { PortTarget } from "./port-target.ts";

/** Cookie with a link's token, set after the first visit. */
export const LINK_COOKIE = "belljar-port";

export interface Cookie {
  readonly name: string;
  readonly value: string;
}

const OURS = /^belljar/i;
/** Prefixes that bind a cookie to a path or to TLS. Cookies in path style cannot meet them. */
const BOUND = /^__(host|secure|http)-/i;
/** Attributes that the router sets itself. */
const SCOPE = /^(domain|path)$/i;
const DOMAIN = /^domain$/i;

export function cookiesOf(header: string | undefined): readonly Cookie[] {
  return (header ?? "").split(";").flatMap((pair) => {
    const at = pair.indexOf("=");
    return at < 0 ? [] : [{ name: pair.slice(0, at).trim(), value: pair.slice(at + 1).trim() }];
  });
}

/**
 * Returns the Cookie header for the program inside. In path style, browsers also send cookies of other pages of this server, and of other
 * servers on this machine. The program gets only its own cookies, which have its sandbox and port in their names.
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

/** Returns a Set-Cookie header that is limited to this port, or undefined if the cookie must not be set. */
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
