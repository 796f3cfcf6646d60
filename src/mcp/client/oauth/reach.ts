import { lookup as resolve } from "node:dns/promises";
import { BlockList, isIP, isIPv4 } from "node:net";

/**
 * How far an address is from this machine. `never` are addresses that no server of MCP has: link-local ones, behind which clouds keep their
 * metadata, multicast, and those of no host.
 */
export type Reach = "loopback" | "private" | "public" | "never";

const RANGES: Readonly<Record<Exclude<Reach, "public">, readonly string[]>> = {
  loopback: ["127.0.0.0/8", "::1/128"],
  private: ["10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10", "198.18.0.0/15", "fc00::/7"],
  never: [
    "0.0.0.0/8",
    "169.254.0.0/16",
    "100.100.100.200/32",
    "168.63.129.16/32",
    "192.0.0.0/24",
    "224.0.0.0/4",
    "240.0.0.0/4",
    "::/128",
    "fe80::/10",
    "fec0::/10",
    "ff00::/8",
    "fd00:ec2::/32",
    "fd20:ce::254/128",
  ],
};
const LISTS = { never: toList(RANGES.never), loopback: toList(RANGES.loopback), private: toList(RANGES.private) };
/** An IPv4 address inside an IPv6 one: mapped, or translated by NAT64. */
const EMBEDDED = toList(["::ffff:0:0/96", "64:ff9b::/96"]);

/** The reach of an IP address. */
export function reachOf(address: string): Reach {
  const bare = address.split("%", 1)[0] ?? "";
  const embedded = isIPv4(bare) ? undefined : embeddedIn(bare);
  if (embedded !== undefined) return reachOf(embedded);
  const family = isIPv4(bare) ? "ipv4" : "ipv6";
  const found = (["never", "loopback", "private"] as const).find((reach) => LISTS[reach].check(bare, family));
  return found ?? "public";
}

/**
 * Whether a server that is so far away may send this machine to an address: to one that is as far, or farther. Else a server of the Internet
 * could have this machine ask its own network.
 */
export function mayName(server: Reach, address: string): boolean {
  const reach = reachOf(address);
  if (reach === "never" || server === "never") return false;
  return NEARNESS[reach] <= NEARNESS[server];
}

const NEARNESS = { public: 0, private: 1, loopback: 2 } as const;

/** The reach of the host of a URL: that of its nearest address. Rejects with the error of the name service. */
export async function reachOfHost(url: URL): Promise<Reach> {
  const host = bareHost(url);
  const addresses = isIP(host) ? [host] : (await resolve(host, { all: true })).map(({ address }) => address);
  const reaches = addresses.map(reachOf);
  return (["never", "loopback", "private"] as const).find((reach) => reaches.includes(reach)) ?? "public";
}

/** Whether the URL says itself that it stays on this machine: then it may do without TLS. */
export function isLoopbackUrl(url: URL): boolean {
  const host = bareHost(url);
  if (isIP(host)) return reachOf(host) === "loopback";
  return host === "localhost" || host.endsWith(".localhost");
}

/** Without the brackets of IPv6. */
export function bareHost({ hostname }: URL): string {
  return hostname.replace(/^\[|\]$/g, "");
}

function embeddedIn(address: string): string | undefined {
  if (!EMBEDDED.check(address, "ipv6")) return undefined;
  const { hostname } = new URL(`http://[${address}]`);
  const [low = 0, high = 0] = hostname
    .slice(1, -1)
    .split(":")
    .slice(-2)
    .map((group) => Number.parseInt(group || "0", 16))
    .toReversed();
  return [high >> 8, high & 0xff, low >> 8, low & 0xff].join(".");
}

function toList(ranges: readonly string[]): BlockList {
  const list = new BlockList();
  for (const range of ranges) {
    const [address = "", bits] = range.split("/");
    list.addSubnet(address, Number(bits), isIPv4(address) ? "ipv4" : "ipv6");
  }
  return list;
}
