import { ok } from "node:assert/strict";
import { createServer } from "node:http";
import { openEgressLab, openOrigin } from "../../support/egress-lab.ts";
import type { FuzzTarget } from "../fuzz-target.ts";
import { rawExchange } from "./raw-exchange.ts";

const NAME = "good.test";
/** Waiting for the rest of a head is no hang, and a fuzzer makes connections as fast as it can. */
const BOUNDS = { connections: 256, connectionsPerSecond: 1_000_000, bytesPerDay: 2 ** 50 };
const LIMITS = { headMs: 2_000, sandbox: BOUNDS, owner: BOUNDS };

/** The raw bytes that a program sends to its proxy: what reaches the host is what the rule allows, however it was asked for. */
export const egressProxy: FuzzTarget = {
  seeds: [
    `GET http://${NAME}:@PORT@/open HTTP/1.1\r\nHost: ${NAME}:@PORT@\r\nConnection: close\r\n\r\n`,
    `GET http://${NAME}:@PORT@/open/x HTTP/1.1\r\nHost: ${NAME}:@PORT@\r\n\r\nGET http://${NAME}:@PORT@/closed HTTP/1.1\r\nHost: ${NAME}:@PORT@\r\n\r\n`,
    `GET http://${NAME}:@PORT@/open HTTP/1.1\r\nHost: ${NAME}:@PORT@\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n`,
    `CONNECT ${NAME}:@PORT@ HTTP/1.1\r\nHost: ${NAME}:@PORT@\r\n\r\nGET /open HTTP/1.1\r\nHost: ${NAME}:@PORT@\r\nConnection: close\r\n\r\n`,
    `GET http://${NAME}:@PORT@/open HTTP/1.1\r\nHost: ${NAME}:@PORT@\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n`,
  ],
  words: [
    "@PORT@",
    "/closed",
    "/../closed",
    "%2e%2e",
    "DELETE ",
    "\r\n\r\n",
    "\r\nHost: other.test",
    "Content-Length: 5",
    "Transfer-Encoding: chunked",
    "\n\n",
  ],
  async open() {
    const seen: string[] = [];
    const server = createServer((request, response) => {
      seen.push(`${request.method} ${request.url} ${request.headers.host}`);
      request.resume();
      response.end("ok");
    });
    const origin = await openOrigin(server);
    const rule = `GET http://${NAME}:${origin.port}/open`;
    const lab = await openEgressLab({ policy: { allow: [rule] }, names: { [NAME]: ["127.0.0.1"] }, limits: LIMITS });
    return {
      async run(input) {
        seen.length = 0;
        const text = input.toString("latin1").replaceAll("@PORT@", String(origin.port));
        await rawExchange(await lab.proxy(), Buffer.from(text, "latin1"));
        for (const line of seen) {
          const [method = "", path = "", host] = line.split(" ");
          const { pathname } = new URL(path, "http://host.test");
          ok(method === "GET" && (pathname === "/open" || pathname.startsWith("/open/")) && host === `${NAME}:${origin.port}`, line);
        }
      },
      async [Symbol.asyncDispose]() {
        await lab[Symbol.asyncDispose]();
        await origin[Symbol.asyncDispose]();
      },
    };
  },
};
