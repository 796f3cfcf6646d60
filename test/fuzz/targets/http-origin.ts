import { deepStrictEqual, ok } from "node:assert/strict";
import type { Isolation } from "../../../src/runtime/contract/runtime.ts";
import { createGateway } from "../../../src/gateway/gateway.ts";
import { createCallProbe } from "../../support/call-probe.ts";
import { createNoSandboxes } from "../../support/no-sandboxes.ts";
import type { FuzzTarget } from "../fuzz-target.ts";
import { rawRequest } from "./raw-exchange.ts";

const ISOLATION: Isolation = {
  runtime: "fake",
  available: true,
  checks: [],
  limits: [],
  users: "two",
  terminals: true,
  pause: false,
  sleep: false,
  stop: false,
  states: "none" as const,
};
const HOST = "Host: 127.0.0.1\r\n";
const JSON_HEAD = `${HOST}Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\nConnection: close\r\n`;

const post = (path: string, body: string): string => `POST ${path} HTTP/1.1\r\n${JSON_HEAD}Content-Length: ${body.length}\r\n\r\n${body}`;
const call = (method: string, params: object): string => JSON.stringify({ jsonrpc: "2.0", id: 1, method, params });

/** The raw bytes of requests to the HTTP origin: whatever comes, it answers or closes, faults are the client's, and it goes on. */
export const httpOrigin: FuzzTarget = {
  seeds: [
    `GET /healthz HTTP/1.1\r\n${HOST}Connection: close\r\n\r\n`,
    post("/mcp", call("tools/list", {})),
    post("/mcp", call("tools/call", { name: "echo", arguments: { text: "hi" } })),
    post("/mcp", call("initialize", { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "f", version: "1" } })),
    post("/v1/sandboxes", "{}"),
    `GET /v1/sandboxes?state=running HTTP/1.1\r\n${HOST}Connection: close\r\n\r\n`,
    `GET /ports/a1b2c3d4e5f6g7h8i9j0/8000/ HTTP/1.1\r\n${HOST}Connection: close\r\n\r\n`,
    `GET /x HTTP/1.1\r\nHost: 8000-a1b2c3d4e5f6g7h8i9j0.localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n`,
  ],
  words: [
    "\r\n\r\n",
    "\r\n",
    "Transfer-Encoding: chunked",
    "Content-Length: 0",
    "HTTP/1.0",
    "%2f",
    "..",
    "[[[[[[[[",
    '{"',
    '"__proto__":',
    "Origin: null",
  ],
  async open() {
    const faults: unknown[] = [];
    const gateway = createGateway({
      config: { host: "127.0.0.1", port: 0 },
      sandboxes: createNoSandboxes(),
      tools: createCallProbe().tools,
      isolation: async () => ISOLATION,
      version: "1.2.3",
      log: { error: (fields) => void faults.push(fields) },
    });
    const port = Number(new URL((await gateway.listen()).origin).port);
    return {
      async run(input) {
        const answer = await rawRequest(port, input);
        const statuses = [...answer.matchAll(/^HTTP\/1\.1 (\d{3})/gm)].map(([, status]) => Number(status));
        ok(
          statuses.every((status) => status < 500 || status === 501 || status === 503 || status === 505),
          answer.slice(0, 500),
        );
        deepStrictEqual(faults, []);
      },
      [Symbol.asyncDispose]: () => gateway.close(0),
    };
  },
};
