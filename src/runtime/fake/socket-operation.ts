import { closeSync, openSync } from "node:fs";
import { connect, createServer, type Server, type Socket } from "node:net";
import { BelljarError } from "../../errors.ts";
import type { Field, Fields } from "../../protocol/fields.ts";
import type { Peer } from "./peer.ts";
import { InputPump, OutputPump, routeFrames } from "./pump.ts";
import type { SandboxPaths } from "./sandbox-paths.ts";

const USER_ID = 1_000;

/** Loopback inside a fake sandbox is the host's. */
export function serveDial(peer: Peer, fields: Fields): void {
  const socket = connect({ port: fields.needNumber("PORT"), host: "127.0.0.1", allowHalfOpen: true });
  const refused = (error: Error): void => peer.fail(error);
  peer.onGone(() => socket.destroy());
  socket.once("error", refused);
  socket.once("connect", () => {
    socket.off("error", refused);
    joinSocket(peer, socket, []);
  });
}

export function joinSocket(peer: Peer, socket: Socket, fields: readonly Field[]): void {
  peer.started(fields);
  socket.once("error", (error) =>
    peer.fail(new BelljarError("NETWORK_FAILED", "The program inside broke the connection off", { cause: error })),
  );
  socket.once("close", () => peer.finish());
  const output = new OutputPump(peer, 0, socket);
  peer.listen(routeFrames([output], [new InputPump(peer, 0, socket)]));
  peer.onGone(() => socket.destroy());
}

/** One listener a service; connections and ACCEPT streams wait for each other. */
export class Services {
  readonly #paths: SandboxPaths;
  readonly #services = new Map<string, Service>();

  constructor(paths: SandboxPaths) {
    this.#paths = paths;
  }

  accept(peer: Peer, name: string): void {
    if (!/^[a-z0-9-]{1,32}$/.test(name)) throw new BelljarError("ARGUMENTS_INVALID", `"${name}" cannot name a service`);
    let service = this.#services.get(name);
    if (!service) {
      service = new Service(this.#paths, name);
      this.#services.set(name, service);
    }
    service.wait(peer);
  }

  close(): void {
    for (const service of this.#services.values()) service.close();
  }
}

class Service {
  readonly #server: Server;
  readonly #folder: number;
  readonly #peers: Peer[] = [];
  readonly #sockets: Socket[] = [];

  constructor(paths: SandboxPaths, name: string) {
    // A unix socket's path holds 108 bytes; through a descriptor the folder's own length does not count.
    this.#folder = openSync(paths.toHost(Buffer.from("/run/belljar")), "r");
    this.#server = createServer({ allowHalfOpen: true, pauseOnConnect: true }, (socket) => this.#connected(socket));
    this.#server.listen(`/proc/self/fd/${this.#folder}/${name}.sock`);
  }

  wait(peer: Peer): void {
    this.#peers.push(peer);
    this.#match();
  }

  #connected(socket: Socket): void {
    socket.on("error", () => {});
    this.#sockets.push(socket);
    this.#match();
  }

  #match(): void {
    for (let peer = this.#nextPeer(); peer && this.#sockets.length > 0; peer = this.#nextPeer()) {
      this.#peers.shift();
      const socket = this.#sockets.shift();
      if (socket)
        joinSocket(peer, socket, [
          ["PEER_UID", USER_ID],
          ["PEER_PID", 0],
        ]);
    }
  }

  #nextPeer(): Peer | undefined {
    while (this.#peers[0]?.isGone) this.#peers.shift();
    return this.#peers[0];
  }

  close(): void {
    this.#server.close(() => closeSync(this.#folder));
    for (const socket of this.#sockets) socket.destroy();
  }
}
