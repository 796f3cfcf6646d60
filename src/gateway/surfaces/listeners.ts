import { lookup } from "node:dns/promises";
import { once } from "node:events";
import type { AddressInfo, Server } from "node:net";

/** What accepts connections. */
export interface Acceptor {
  readonly server: Server;
  closeAllConnections(): void;
}

/** What listens for one origin. */
export interface Listeners {
  /** Resolves with the address once all accept. Rejects with the error of the system, and then nothing listens. */
  open(host: string, port: number): Promise<URL>;
  /** Resolves when the last connection has gone. */
  close(): Promise<void>;
  /** Ends what is left. */
  cut(): void;
}

/** One server for each address: the name `localhost` has two of them, and clients choose either. */
export function createListeners(createAcceptor: () => Acceptor, resolve = addressesOf): Listeners {
  const acceptors: Acceptor[] = [];
  const open = async (host: string, port: number): Promise<AddressInfo> => {
    const acceptor = createAcceptor();
    const { server } = acceptor;
    server.listen({ host, port });
    await once(server, "listening");
    acceptors.push(acceptor);
    return server.address() as AddressInfo;
  };
  const close = async (): Promise<void> => {
    await Promise.all(
      acceptors.map(async ({ server }) => {
        const closed = once(server, "close");
        server.close();
        await closed;
      }),
    );
  };
  return {
    async open(host, port) {
      const [first = host, ...others] = host === "localhost" ? await resolve(host) : [host];
      const bound = await open(first, port);
      try {
        for (const other of others) await open(other, bound.port).catch(passAbsent);
      } catch (error) {
        await close();
        acceptors.length = 0;
        throw error;
      }
      return urlOf(bound);
    },
    close,
    cut() {
      for (const acceptor of acceptors) acceptor.closeAllConnections();
    },
  };
}

/** A machine without IPv6 has no such address. An address that another process holds is a failure: clients would talk to that process. */
function passAbsent(error: NodeJS.ErrnoException): void {
  if (error.code !== "EADDRNOTAVAIL" && error.code !== "EAFNOSUPPORT") throw error;
}

async function addressesOf(host: string): Promise<readonly string[]> {
  return [...new Set((await lookup(host, { all: true })).map(({ address }) => address))];
}

/** One that this machine can ask. */
function urlOf({ address, port }: AddressInfo): URL {
  if (address.includes(":")) return new URL(`http://[${address}]:${port}`);
  return new URL(`http://${address === "0.0.0.0" ? "127.0.0.1" : address}:${port}`);
}
