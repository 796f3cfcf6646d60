import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { ConnectionRecord } from "../../src/network/connection-record.ts";
import type { EgressService, EgressState } from "../../src/network/egress.ts";
import { createEgress } from "../../src/network/egress/create-egress.ts";
import type { EgressOptions } from "../../src/network/egress/egress-options.ts";
import type { NetworkPolicy } from "../../src/network/policy.ts";
import type { Guest, ListenedConnection, SocketAddress } from "../../src/runtime/guest/guest.ts";
import { NO_LISTENERS } from "./no-listeners.ts";

export const LAB_SANDBOX = "a1b2c3d4e5f6g7h8i9j0";

/** A guest that only listens: each `dial` is a real TCP connection, handed to whoever listens on that address. */
export interface ListeningGuest extends AsyncDisposable {
  readonly guest: Guest;
  /** What is listened on now, as `address:port`. */
  listening(): readonly string[];
  /** Rejects when nobody listens there. `told`: what the guest says instead of the truth. */
  dial(address: SocketAddress, told?: SocketAddress): Promise<Socket>;
  /** As a sandbox that ends: its listeners do, and its connections too. */
  end(): void;
}

export async function openListeningGuest(): Promise<ListeningGuest> {
  const listeners = new Map<string, ConnectionQueue>();
  // By the client's port, which the system gives to another connection later: each is taken once.
  const arrived = new Map<number, Socket>();
  const awaited = new Map<number, (socket: Socket) => void>();
  const sockets = new Set<Socket>();
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    const port = socket.remotePort ?? 0;
    const take = awaited.get(port);
    sockets.add(socket);
    socket.once("close", () => sockets.delete(socket));
    if (!awaited.delete(port)) arrived.set(port, socket);
    take?.(socket);
  });
  const keyOf = ({ address, port }: SocketAddress): string => `${address}:${port}`;
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const listen: Guest["listen"] = async (addresses, { signal }) => {
    const queue = new ConnectionQueue();
    for (const address of addresses) listeners.set(keyOf(address), queue);
    signal.addEventListener("abort", () => {
      queue.end();
      for (const address of addresses) if (listeners.get(keyOf(address)) === queue) listeners.delete(keyOf(address));
    });
    return { held: Promise.resolve(), connections: queue };
  };
  const end = (): void => {
    for (const queue of listeners.values()) queue.end();
    for (const socket of sockets) socket.destroy();
  };
  return {
    guest: { listen } as Partial<Guest> as Guest,
    listening: () => [...listeners.keys()].toSorted(),
    end,
    async dial(local, told = local) {
      const queue = listeners.get(keyOf(local));
      if (!queue) throw new TypeError(`nobody listens on ${keyOf(local)}`);
      const client = connect({ port: (server.address() as AddressInfo).port, host: "127.0.0.1", allowHalfOpen: true });
      client.on("error", () => {});
      await once(client, "connect");
      const port = client.localPort ?? 0;
      const stream = await new Promise<Duplex>((resolve) => {
        const known = arrived.get(port);
        if (arrived.delete(port) && known) resolve(known);
        else awaited.set(port, resolve);
      });
      queue.push({ stream, local: told });
      return client;
    },
    async [Symbol.asyncDispose]() {
      end();
      await closeServer(server);
    },
  };
}

class ConnectionQueue implements AsyncIterable<ListenedConnection> {
  readonly #ready: ListenedConnection[] = [];
  #isEnded = false;
  #wake: (() => void) | undefined;

  push(connection: ListenedConnection): void {
    this.#ready.push(connection);
    this.#wake?.();
  }

  end(): void {
    this.#isEnded = true;
    this.#wake?.();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<ListenedConnection, void, undefined> {
    while (!this.#isEnded) {
      const connection = this.#ready.shift();
      if (connection) yield connection;
      else
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
    }
  }
}

export interface EgressLab extends AsyncDisposable {
  readonly service: EgressService;
  readonly records: readonly ConnectionRecord[];
  readonly inside: ListeningGuest;
  /** A connection to the HTTP proxy, as a program inside makes it. */
  proxy(): Promise<Socket>;
  socks(): Promise<Socket>;
  names(): Promise<Socket>;
  /** Resolves when a record of this kind is or was written. */
  recorded(match: (record: ConnectionRecord) => boolean): Promise<ConnectionRecord>;
  update(state: Partial<EgressState>): void;
}

export interface EgressLabOptions extends Omit<EgressOptions, "record" | "listeners">, Partial<Pick<EgressOptions, "listeners">> {
  readonly policy: NetworkPolicy;
  /** What names lead to; all others lead nowhere. */
  readonly names?: Readonly<Record<string, readonly string[]>>;
  readonly guard?: EgressState["guard"];
  /** What of the policy may lead inside. */
  readonly within?: EgressState["inside"];
}

/** The way out of one sandbox whose programs are the test itself. */
export async function openEgressLab({
  policy,
  names = {},
  guard,
  within,
  resolver: given,
  ...options
}: EgressLabOptions): Promise<EgressLab> {
  const inside = await openListeningGuest();
  const records: ConnectionRecord[] = [];
  const watchers = new Set<() => void>();
  const record = (row: ConnectionRecord): void => {
    records.push(row);
    for (const watch of watchers) watch();
  };
  const resolver = given ?? {
    resolve: async (host: string): Promise<readonly string[]> => names[host] ?? Promise.reject(new TypeError("no such name")),
  };
  const egress = createEgress({ listeners: NO_LISTENERS, ...options, record, resolver });
  const service = egress.serve(
    { id: LAB_SANDBOX, owner: "local", guest: inside.guest },
    { policy, ...(guard && { guard }), ...(within !== undefined && { inside: within }) },
  );
  await service.ready;
  const local = (port: number): Promise<Socket> => inside.dial({ address: "127.0.0.1", port });
  return {
    service,
    records,
    inside,
    proxy: () => local(3128),
    socks: () => local(1080),
    names: () => local(53),
    recorded: (match) =>
      new Promise((resolve) => {
        const watch = (): void => {
          const found = records.find(match);
          if (!found) return;
          watchers.delete(watch);
          resolve(found);
        };
        watchers.add(watch);
        watch();
      }),
    update: (state) => service.update({ policy, ...(guard && { guard }), ...state }),
    async [Symbol.asyncDispose]() {
      await egress[Symbol.asyncDispose]();
      await inside[Symbol.asyncDispose]();
    },
  };
}

/** Writes, and reads to the end of the connection. */
export async function converse(socket: Duplex, text: string | Uint8Array): Promise<string> {
  socket.write(text);
  const chunks: Buffer[] = [];
  for await (const chunk of socket) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString("latin1");
}

/** A server on loopback that is closed with all its connections. */
export async function openOrigin<T extends Server>(server: T): Promise<{ readonly server: T; readonly port: number } & AsyncDisposable> {
  const sockets = new Set<Socket>();
  server.on("connection", (socket: Socket) => {
    sockets.add(socket);
    socket.on("error", () => {}).once("close", () => sockets.delete(socket));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    server,
    port: (server.address() as AddressInfo).port,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      await closeServer(server);
    },
  };
}

async function closeServer(server: Server): Promise<void> {
  server.close();
  await once(server, "close");
}

/** Reads up to the text and with it; what follows stays in the stream. */
export async function readUntil(stream: Duplex, text: string): Promise<string> {
  let seen = "";
  while (!seen.includes(text)) {
    const chunk: unknown = stream.read();
    if (chunk === null) {
      if (stream.readableEnded || stream.destroyed) throw new TypeError(`ended after "${seen}"`);
      await Promise.race([once(stream, "readable"), once(stream, "end"), once(stream, "close")]);
    } else seen += (chunk as Buffer).toString("latin1");
  }
  const end = seen.indexOf(text) + text.length;
  if (end < seen.length) stream.unshift(Buffer.from(seen.slice(end), "latin1"));
  return seen.slice(0, end);
}

/** A tunnel through the proxy; rejects with what the proxy said when it did not open. */
export async function openConnect(lab: EgressLab, authority: string): Promise<Socket> {
  const client = await lab.proxy();
  client.write(`CONNECT ${authority} HTTP/1.1\r\nHost: ${authority}\r\n\r\n`);
  const head = await readUntil(client, "\r\n\r\n");
  if (head.startsWith("HTTP/1.1 200")) return client;
  throw new TypeError(head);
}
