import { lookup as resolve } from "node:dns/promises";
import { isIP } from "node:net";
import { isLoopbackAddress, kindOfAddress } from "../../../network/egress/addresses.ts";
import { toCanonicalHost } from "../../../network/host-name.ts";

/**
 * How far an address is from this machine. `never` are addresses that no server of MCP has: link-local ones, behind which clouds keep their
 * metadata, multicast, and those of no host.
 */
export type Reach = "loopback" | "private" | "public" | "never";

/** The reach of an IP address, by the table of addresses that the network policies of sandboxes use too. An address with a zone has none. */
export function reachOf(address: string): Reach {
  const canonical = toCanonicalHost(address);
  const kind = canonical === undefined ? "closed" : kindOfAddress(canonical);
  if (canonical === undefined || kind === "closed") return "never";
  if (kind === "public") return "public";
  return isLoopbackAddress(canonical) ? "loopback" : "private";
}

/**
 * Whether a server that is so far away may send this machine to an address: to one that is as far, or farther. Else a server of the Internet
 * could have this machine ask its own network.
 */
export function mayName(server: Reach, address: string): boolean {
  return isWithin(server, reachOf(address));
}

/** Whether a reach is that of a server, or a farther one. */
export function isWithin(server: Reach, reach: Reach): boolean {
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
