import { once } from "node:events";
import type { RequestListener } from "node:http";
import { createServer as createHttpServer } from "node:http";
import type { AddressInfo, Server, Socket } from "node:net";
import { connect, createServer } from "node:net";
import type { PortLink } from "../../src/network/ports/port-link.ts";
import { hostOf, openPortLab, tokenOf } from "./port-lab.ts";
import type { PortLab } from "./port-lab.ts";

export const ID = "a1b2c3d4e5f6g7h8i9j0";
export const PORT = 8000;
export const BASE = `/ports/${ID}/${PORT}`;

/** A program inside that serves a port, and the listener through which clients reach it. */
export interface Inside extends AsyncDisposable {
  readonly ports: PortLab;
  readonly link: PortLink;
  dial(): Promise<Socket>;
}

/** A server that stands for the program inside, and a link to it. */
export async function openInside(server: Server, access: PortLink["access"] = "token"): Promise<Inside> {
  const sockets = new Set<Socket>();
  server.on("connection", (socket) => sockets.add(socket.on("error", () => undefined)));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const ports = await openPortLab();
  const dial = async (): Promise<Socket> => {
    const socket = connect({ port: (server.address() as AddressInfo).port, host: "127.0.0.1", allowHalfOpen: true });
    await once(socket, "connect");
    return socket;
  };
  const link = ports.link(ID, PORT, { dial, access });
  return {
    ports,
    link,
    dial,
    async [Symbol.asyncDispose]() {
      await ports[Symbol.asyncDispose]();
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, "close");
    },
  };
}

export function openWeb(listener: RequestListener, access?: PortLink["access"]): Promise<Inside> {
  return openInside(createHttpServer(listener), access);
}

/** Answers with the request that it received. */
export const tell: RequestListener = (request, response) => {
  response.end(JSON.stringify({ method: request.method, url: request.url, headers: request.headers }));
};

/** A program that sends these bytes to every client. */
export function openRaw(said: string): Promise<Inside> {
  return openInside(createServer((socket) => void socket.once("data", () => socket.end(said))));
}

/** Sends raw bytes, as a hostile client may, and returns the answer. */
export async function sayRaw({ ports }: Inside, text: string): Promise<string> {
  const socket = connect({ port: Number(ports.origin.port), host: "127.0.0.1" });
  socket.write(text);
  const chunks: Buffer[] = [];
  for await (const chunk of socket as AsyncIterable<Buffer>) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}

export const byHost = ({ link }: Inside) => ({ host: hostOf(link), headers: tokenOf(link) });
export const byPath = ({ link }: Inside, path = "/") => ({ path: `${BASE}/~${link.token}${path}` });
