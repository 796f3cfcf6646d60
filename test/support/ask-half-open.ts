import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { once } from "node:events";
import type { Socket } from "node:net";
import { connect } from "node:net";

/**
 * Sends the bytes over a connection whose sending side the client keeps open. Resolves with the answer once the server, which must be one
 * of this process, has let go of its socket.
 */
export async function askHalfOpen({ hostname, port }: URL, bytes: string): Promise<string> {
  const accepted: Socket[] = [];
  const note = (message: unknown): void => void accepted.push((message as { socket: Socket }).socket);
  subscribe("net.server.socket", note);
  const client = connect({ port: Number(port), host: hostname, allowHalfOpen: true });
  const answer: Buffer[] = [];
  // A stream that is iterated over would be closed at its end.
  client.on("data", (chunk: Buffer) => answer.push(chunk));
  client.write(bytes);
  await once(client, "end");
  unsubscribe("net.server.socket", note);
  const socket = accepted.find(({ remotePort }) => remotePort === client.localPort);
  if (socket && !socket.closed) await once(socket, "close");
  if (accepted.length === 0 || !client.writable)
    throw new Error("The client has closed its side, or no server of this process accepted it");
  client.destroy();
  return Buffer.concat(answer).toString();
}
