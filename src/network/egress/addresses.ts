import { BlockList, isIPv4 } from "node:net";
import { networkInterfaces } from "node:os";
import { toCanonicalHost, toIpv4, toIpv6Groups } from "../host-name.ts";

/**
 * `public`: on the public Internet. `private`: this machine, its own network, and ranges that no network announces, with which some resolvers
 * answer; reached only if a rule names the host and the port.
 * `closed`: metadata, link-local, multicast and reserved; reached only if a rule names the address itself and the port.
 */
export type AddressKind = "public" | "private" | "closed";

const PRIVATE_IPV4 = [
  "127.0.0.0/8",
  "10.0.0.0/8",
  "172.16.0.0/12",
  "192.168.0.0/16",
  "100.64.0.0/10",
  "198.18.0.0/15", // benchmarks; names inside a sandbox
  "192.0.2.0/24", // documentation
  "198.51.100.0/24",
  "203.0.113.0/24",
];
const CLOSED_IPV4 = [
  "0.0.0.0/8", // this host
  "169.254.0.0/16", // link-local, and the metadata of most clouds
  "100.100.100.200/32", // metadata, Alibaba
  "168.63.129.16/32", // the platform's own server, Azure
  "192.0.0.0/24", // protocol assignments; metadata, Oracle
  "192.88.99.0/24", // 6to4 relays
  "224.0.0.0/4", // multicast
  "240.0.0.0/4", // reserved, broadcast
];
const PRIVATE_IPV6 = ["::1/128", "fc00::/7", "2001:db8::/32", "3fff::/20"]; // the last two: documentation
const CLOSED_IPV6 = [
  "fd00:ec2::/32", // metadata, AWS
  "fd20:ce::254/128", // metadata, Google
  "fd00:c1::a9fe:a9fe/128", // metadata, Oracle
  "2001::/23", // protocol assignments, Teredo
  "2002::/16", // 6to4, which carries an IPv4 address
];
/** The only block with addresses of hosts on the Internet. */
const GLOBAL_IPV6 = toBlockList(["2000::/3"]);
/** Loopback, and the addresses that the kernel treats like it. IPv4 addresses inside IPv6 are checked as IPv4. */
const THIS_MACHINE = toBlockList(["127.0.0.0/8", "0.0.0.0/8", "::1/128", "::/128"]);
const LOOPBACK = toBlockList(["127.0.0.0/8", "::1/128"]);
const LISTS = {
  closed: toBlockList([...CLOSED_IPV4, ...CLOSED_IPV6]),
  private: toBlockList([...PRIVATE_IPV4, ...PRIVATE_IPV6]),
};

/** `own`: the addresses of this machine's interfaces. They always count as private. */
export function kindOfAddress(address: string, own: ReadonlySet<string> = ownAddresses()): AddressKind {
  const translated = isIPv4(address) ? undefined : fromTranslated(address);
  if (translated !== undefined) return kindOfAddress(translated, own);
  const family = isIPv4(address) ? "ipv4" : "ipv6";
  if (LISTS.closed.check(address, family)) return "closed";
  if (own.has(address) || LISTS.private.check(address, family)) return "private";
  return family === "ipv4" || GLOBAL_IPV6.check(address, family) ? "public" : "closed";
}

/** Returns true if a connection to this address stays on this machine. */
export function isOwnAddress(address: string, own: ReadonlySet<string> = ownAddresses()): boolean {
  const translated = isIPv4(address) ? undefined : fromTranslated(address);
  if (translated !== undefined) return isOwnAddress(translated, own);
  return own.has(address) || THIS_MACHINE.check(address, isIPv4(address) ? "ipv4" : "ipv6");
}

/** Returns true for an address of loopback, which every machine has for itself. */
export function isLoopbackAddress(address: string): boolean {
  const translated = isIPv4(address) ? undefined : fromTranslated(address);
  return LOOPBACK.check(translated ?? address, isIPv4(translated ?? address) ? "ipv4" : "ipv6");
}

export function ownAddresses(): ReadonlySet<string> {
  const rows = Object.values(networkInterfaces()).flatMap((row) => row ?? []);
  return new Set(rows.flatMap(({ address }) => toCanonicalHost(address.split("%", 1)[0] ?? "") ?? []));
}

/** NAT64 translates 64:ff9b::/96 to IPv4, so such an address is judged by the IPv4 address in it. */
function fromTranslated(address: string): string | undefined {
  const groups = toIpv6Groups(address);
  const [first, second, ...rest] = groups;
  if (first !== 0x64 || second !== 0xff9b || rest.slice(0, 4).some((group) => group !== 0)) return undefined;
  return toIpv4(groups[6] ?? 0, groups[7] ?? 0);
}

function toBlockList(blocks: readonly string[]): BlockList {
  const list = new BlockList();
  for (const block of blocks) {
    const [address = "", bits] = block.split("/");
    list.addSubnet(address, Number(bits), isIPv4(address) ? "ipv4" : "ipv6");
  }
  return list;
}
