import { once } from "node:events";
import { createServer, request as ask } from "node:http";
import type { AddressInfo } from "node:net";

/** A server that speaks the older era alone: it passes on to `url` what is of that era. */
export async function openLegacyFront(url: URL) {
  const server = createServer((incoming, outgoing) => {
    if (incoming.headers["mcp-protocol-version"] === "2026-07-28") {
      incoming.resume();
      return outgoing.writeHead(400, { "content-type": "text/plain" }).end("Bad Request");
    }
    const onward = ask(url, { method: incoming.method, headers: { ...incoming.headers, host: url.host } }, (answer) => {
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(outgoing);
    });
    onward.on("error", () => outgoing.destroy());
    outgoing.on("close", () => onward.destroy());
    return incoming.pipe(onward);
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}${url.pathname}`),
    [Symbol.dispose]: () => (server.closeAllConnections(), void server.close()),
  };
}
