import { once } from "node:events";
import { connect, type ConnectionOptions } from "node:tls";
import { connectionPair } from "./connection-pair.ts";

/** What Node's own TLS client sends first. */
export async function helloOf(options: ConnectionOptions): Promise<Buffer> {
  const [near, far] = await connectionPair();
  const client = connect({ socket: near, ...options }).on("error", () => {});
  const [bytes] = (await once(far, "data")) as [Buffer];
  client.destroy();
  far.destroy();
  return bytes;
}

/** With one more extension. */
export function withExtension(hello: Buffer, type: number, body: Buffer): Buffer {
  const extension = Buffer.concat([Buffer.from([type >> 8, type & 255, body.length >> 8, body.length & 255]), body]);
  const result = Buffer.concat([hello, extension]);
  const sessionAt = 5 + 4 + 2 + 32;
  const ciphersAt = sessionAt + 1 + (hello[sessionAt] ?? 0);
  const methodsAt = ciphersAt + 2 + hello.readUInt16BE(ciphersAt);
  const extensionsAt = methodsAt + 1 + (hello[methodsAt] ?? 0);
  result.writeUInt16BE(result.length - 5, 3);
  result.writeUIntBE(result.length - 9, 6, 3);
  result.writeUInt16BE(result.length - extensionsAt - 2, extensionsAt);
  return result;
}
