import { isIP, isIPv4, isIPv6 } from "node:net";

const NAME_MAX_LENGTH = 253;
const LABEL = /^[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?$/;
/** Characters that a URL parser would not treat as part of a host, or would drop silently. */
const NOT_A_HOST = /[\s/\\?#@:%[\]\p{Cc}]/u;

/**
 * Returns the canonical spelling of a host: lower case, punycode, no trailing dot, no brackets. Addresses get their shortest form; decimal,
 * octal and IPv6-mapped forms of IPv4 become ordinary IPv4. Returns undefined for an invalid host.
 */
export function toCanonicalHost(text: string): string | undefined {
  if (text.length === 0 || text.length > NAME_MAX_LENGTH + 1) return undefined;
  const bare = text.startsWith("[") && text.endsWith("]") ? text.slice(1, -1) : text;
  if (bare.includes(":")) return toCanonicalIpv6(bare);
  if (NOT_A_HOST.test(text) || !URL.canParse(`http://${text}/`)) return undefined;
  const name = new URL(`http://${text}/`).hostname.replace(/\.$/, "");
  return isIPv4(name) || isName(name) ? name : undefined;
}

export function isAddress(host: string): boolean {
  return isIP(host) !== 0;
}

/** Returns `host:port`. An IPv6 address gets brackets. */
export function toAuthority(host: string, port: number): string {
  return `${isIPv6(host) ? `[${host}]` : host}:${port}`;
}

/** Parses `host` or `host:port`. Returns undefined for anything else. */
export function parseAuthority(text: string, defaultPort?: number): { readonly host: string; readonly port: number } | undefined {
  const match = /^(\[[^\]]*\]|[^:]*)(?::(\d{1,5}))?$/.exec(text);
  const host = toCanonicalHost(match?.[1] ?? "");
  const port = match?.[2] === undefined ? defaultPort : Number(match[2]);
  if (host === undefined || port === undefined || port < 1 || port > 65_535) return undefined;
  return { host, port };
}

/** Returns the eight groups of an IPv6 address. */
export function toIpv6Groups(address: string): readonly number[] {
  const canonical = new URL(`http://[${address}]/`).hostname.slice(1, -1);
  const [head = "", tail] = canonical.split("::");
  const groups = (part: string): number[] => (part === "" ? [] : part.split(":").map((group) => Number.parseInt(group, 16)));
  if (tail === undefined) return groups(head);
  const [first, last] = [groups(head), groups(tail)];
  return [...first, ...Array.from({ length: 8 - first.length - last.length }, () => 0), ...last];
}

/** Returns the IPv4 address in two groups of an IPv6 address. */
export function toIpv4(high: number, low: number): string {
  return [high >> 8, high & 255, low >> 8, low & 255].join(".");
}

function toCanonicalIpv6(text: string): string | undefined {
  if (!isIPv6(text) || text.includes("%")) return undefined;
  const groups = toIpv6Groups(text);
  const isMapped = groups.slice(0, 5).every((group) => group === 0) && groups[5] === 0xffff;
  return isMapped ? toIpv4(groups[6] ?? 0, groups[7] ?? 0) : new URL(`http://[${text}]/`).hostname.slice(1, -1);
}

function isName(name: string): boolean {
  return name.length <= NAME_MAX_LENGTH && name.split(".").every((label) => LABEL.test(label));
}
