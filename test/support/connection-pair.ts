import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";

/** The two ends of one TCP connection on loopback. */
export async function connectionPair(): Promise<readonly [Socket, Socket]> {
  const server = createServer();
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const near = connect((server.address() as AddressInfo).port, "127.0.0.1");
  const [far] = (await once(server, "connection")) as [Socket];
  server.close();
  return [near, far];
}
