import { lookup, Resolver as DnsResolver } from "node:dns/promises";
import { isIP } from "node:net";

/** Turns names into addresses on the host. Rejects when there are none. */
export interface Resolver {
  resolve(host: string, signal: AbortSignal): Promise<readonly string[]>;
}

/** As every other program of the host resolves names. */
export function createSystemResolver(): Resolver {
  return {
    resolve: async (host) => (await lookup(host, { all: true, order: "ipv4first" })).map(({ address }) => address),
  };
}

/** Asks these servers (`address` or `address:port`) and looks into no file of the host. */
export function createDnsResolver(servers: readonly string[]): Resolver {
  return {
    async resolve(host, signal) {
      const resolver = new DnsResolver({ timeout: 2_000, tries: 2 });
      resolver.setServers(servers);
      const cancel = (): void => resolver.cancel();
      signal.addEventListener("abort", cancel);
      try {
        return (await Promise.all([resolver.resolve4(host), resolver.resolve6(host).catch(() => [])]))
          .flat()
          .filter((address) => isIP(address));
      } finally {
        signal.removeEventListener("abort", cancel);
      }
    },
  };
}
