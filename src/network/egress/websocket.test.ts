import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import { expect, it } from "vitest";
import { converse, type EgressLab, openEgressLab, openOrigin, readUntil } from "../../../test/support/egress-lab.ts";

const SWITCH = "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n";

interface SocketLab extends AsyncDisposable {
  readonly lab: EgressLab;
  readonly host: string;
  /** The requests that the server received. */
  readonly asked: readonly string[];
  head(line: string, ...headers: readonly string[]): string;
}

async function openSocketLab(
  rule: (host: string) => string,
  {
    upgrade,
    answer,
  }: {
    readonly upgrade?: (request: IncomingMessage, socket: Duplex) => void;
    readonly answer?: (request: IncomingMessage, response: ServerResponse) => void;
  },
): Promise<SocketLab> {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    asked.push(`${request.method} ${request.url}`);
    if (answer) answer(request, response);
    else response.writeHead(426).end("no");
  });
  if (upgrade)
    server.on("upgrade", (request, socket) => {
      asked.push(`UPGRADE ${request.url}`);
      upgrade(
        request,
        socket.on("error", () => {}),
      );
    });
  const origin = await openOrigin(server);
  const host = `good.test:${origin.port}`;
  const lab = await openEgressLab({ policy: { allow: [rule(host)] }, names: { "good.test": ["127.0.0.1"] } });
  return {
    lab,
    host,
    asked,
    head: (line, ...headers) =>
      [`${line} HTTP/1.1`, `Host: ${host}`, "Connection: Upgrade", "Upgrade: websocket", ...headers, "", ""].join("\r\n"),
    async [Symbol.asyncDispose]() {
      await lab[Symbol.asyncDispose]();
      await origin[Symbol.asyncDispose]();
    },
  };
}

it.each(["GET /closed", "POST /open", "GET /open/../closed", "GET /open/%2e%2e/closed", "GET /open%2f..%2fclosed"])(
  "upgrades nothing that no rule allows: %s",
  async (line) => {
    await using socket = await openSocketLab((host) => `GET http://${host}/open`, { upgrade: (_request, stream) => stream.end(SWITCH) });
    const [method = "", path = ""] = line.split(" ");
    const answer = await converse(await socket.lab.proxy(), socket.head(`${method} http://${socket.host}${path}`));
    expect(answer).toMatch(/x-belljar-error: (?:no-rule|ambiguous-path)/);
    expect(socket.asked).toEqual([]);
  },
);

it.each([
  ["a body", ["Content-Length: 40"]],
  ["chunks", ["Transfer-Encoding: chunked"]],
])("upgrades nothing with %s", async (_what, headers) => {
  await using socket = await openSocketLab((host) => `http://${host}`, { upgrade: (_request, stream) => stream.end(SWITCH) });
  const hidden = socket.head(`GET http://${socket.host}/hidden`);
  expect(await converse(await socket.lab.proxy(), socket.head(`GET http://${socket.host}/open`, ...headers) + hidden)).toContain(
    "400 Bad Request",
  );
  expect(socket.asked).toEqual([]);
});

it("forwards no request that follows a refused upgrade", async () => {
  await using socket = await openSocketLab((host) => `GET http://${host}/open`, {});
  const hidden = `DELETE /closed HTTP/1.1\r\nHost: ${socket.host}\r\n\r\n`;
  const answer = await converse(
    await socket.lab.proxy(),
    socket.head(`GET http://${socket.host}/open`, "Sec-WebSocket-Version: 1") + hidden.repeat(3),
  );
  expect(answer).toContain("426");
  expect(socket.asked).toEqual(["GET /open"]);
});

it("refuses a 101 that was not requested", async () => {
  await using socket = await openSocketLab((host) => `http://${host}`, { answer: (request) => void request.socket.end(`${SWITCH}hello`) });
  const answer = await converse(
    await socket.lab.proxy(),
    `GET http://${socket.host}/ HTTP/1.1\r\nHost: ${socket.host}\r\nConnection: close\r\n\r\n`,
  );
  expect(answer).toContain("x-belljar-error: bad-response");
});

it("tells why an upgrade failed if the origin closes the connection", async () => {
  await using socket = await openSocketLab((host) => `http://${host}`, { upgrade: (_request, stream) => void stream.destroy() });
  const answer = await converse(await socket.lab.proxy(), socket.head(`GET http://${socket.host}/open`));
  expect(answer).toContain("502 Bad Gateway");
  expect(answer).toContain("x-belljar-error: reset");
  expect(await socket.lab.recorded(({ verdict }) => verdict === "failed")).toMatchObject({ reason: "reset" });
});

it("keeps a half-closed connection open, and carries frames of any length", async () => {
  const large = Buffer.alloc(4 << 20, "x");
  await using socket = await openSocketLab((host) => `http://${host}`, {
    upgrade: (_request, stream) => {
      stream.write(SWITCH);
      stream.resume().once("end", () => stream.end(Buffer.concat([Buffer.of(0x82, 127, 0, 0, 0, 0, 0, 0x40, 0, 0), large])));
    },
  });
  const client = await socket.lab.proxy();
  client.write(socket.head(`GET http://${socket.host}/open`));
  await readUntil(client, "\r\n\r\n");
  client.end();
  let received = 0;
  client.on("data", ({ length }: Buffer) => (received += length));
  await once(client, "end");
  expect(received).toBe(large.length + 10);
});
