import { createServer, type Server, type Socket } from "node:net";
import { encodeAddress, parseAddress, type Address } from "../../protocol/address.ts";
import type { Fields } from "../../protocol/fields.ts";
import { FRAME } from "../../protocol/wire.ts";
import type { Peer } from "./peer.ts";
import { joinSocket } from "./socket-operation.ts";

/** The fake sandbox's loopback is the host's, so its LISTEN streams hold ports of the host. */
export class Listens {
  /** In the order in which they came. */
  readonly #line: Listen[] = [];
  readonly #services = new Map<string, Waiting>();

  listen(peer: Peer, fields: Fields): void {
    const addresses = fields.all("ADDRESS").map(parseAddress);
    const waiting = this.#waiting(fields.needBytes("SERVICE").toString());
    const listen = new Listen(peer, addresses, (socket) => waiting.connected(socket));
    this.#line.push(listen);
    peer.send(FRAME.EVENT, 0);
    peer.onGone(() => void this.#leave(listen));
    this.#settle();
  }

  accept(peer: Peer, service: string): void {
    this.#waiting(service).wait(peer);
  }

  #waiting(service: string): Waiting {
    const waiting = this.#services.get(service) ?? new Waiting();
    this.#services.set(service, waiting);
    return waiting;
  }

  async #leave(listen: Listen): Promise<void> {
    await listen.close();
    this.#line.splice(this.#line.indexOf(listen), 1);
    this.#settle();
  }

  #settle(): void {
    for (const [index, listen] of this.#line.entries()) {
      if (!this.#line.slice(0, index).some((earlier) => earlier.overlaps(listen))) void listen.hold();
    }
  }
}

class Listen {
  readonly #peer: Peer;
  readonly #addresses: readonly Address[];
  readonly #onConnection: (socket: Socket) => void;
  readonly #servers: Server[] = [];
  #holding: Promise<void> | undefined;

  constructor(peer: Peer, addresses: readonly Address[], onConnection: (socket: Socket) => void) {
    this.#peer = peer;
    this.#addresses = addresses;
    this.#onConnection = onConnection;
  }

  overlaps(other: Listen): boolean {
    return this.#addresses.some((one) => other.#addresses.some((two) => one.address === two.address && one.port === two.port));
  }

  hold(): Promise<void> {
    this.#holding ??= this.#hold();
    return this.#holding;
  }

  async #hold(): Promise<void> {
    try {
      for (const address of this.#addresses) this.#servers.push(await this.#open(address));
      this.#peer.started([]);
    } catch (error) {
      this.#peer.fail(error);
    }
  }

  #open({ address, port }: Address): Promise<Server> {
    return new Promise((resolve, reject) => {
      const server = createServer({ allowHalfOpen: true, pauseOnConnect: true }, this.#onConnection);
      server.once("error", reject).listen(port, address, () => resolve(server));
    });
  }

  async close(): Promise<void> {
    await this.#holding;
    for (const server of this.#servers) server.close();
  }
}

/** Connections and ACCEPT streams of one service wait for each other. */
class Waiting {
  readonly #peers: Peer[] = [];
  readonly #sockets: Socket[] = [];

  wait(peer: Peer): void {
    this.#peers.push(peer);
    this.#match();
  }

  connected(socket: Socket): void {
    socket.on("error", () => {});
    this.#sockets.push(socket);
    this.#match();
  }

  #match(): void {
    for (let peer = this.#nextPeer(); peer && this.#sockets.length > 0; peer = this.#nextPeer()) {
      this.#peers.shift();
      const socket = this.#sockets.shift();
      if (socket) join(peer, socket);
    }
  }

  #nextPeer(): Peer | undefined {
    while (this.#peers[0]?.isGone) this.#peers.shift();
    return this.#peers[0];
  }
}

/** A host that goes amid an answer resets the connection. */
function join(peer: Peer, socket: Socket): void {
  peer.onGone(() => (socket.writableEnded ? socket.destroy() : socket.resetAndDestroy()));
  joinSocket(peer, socket, [["ADDRESS", localAddress(socket)]]);
}

function localAddress({ localAddress: address = "", localPort: port = 0 }: Socket): Buffer {
  return encodeAddress({ address, port });
}
