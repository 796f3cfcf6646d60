import { lookup, Resolver as DnsResolver } from "node:dns/promises";
import { isIP } from "node:net";

/** Resolves names to addresses, on the host. Rejects if there are no addresses. */
export interface Resolver {
  resolve(host: string, signal: AbortSignal): Promise<readonly string[]>;
}

/** Uses the resolver of the host. */
export function createSystemResolver(): Resolver {
  return {
    resolve: async (host) => (await lookup(host, { all: true, order: "ipv4first" })).map(({ address }) => address),
  };
}

/** Uses these servers (`address` or `address:port`), and no file of the host. */
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
