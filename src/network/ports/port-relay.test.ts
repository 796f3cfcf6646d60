import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import { createServer as createHttpServer } from "node:http";
import { connect, createServer } from "node:net";
import { describe, expect, it } from "vitest";
import { askPort, hostOf, openAnswer } from "../../../test/support/port-lab.ts";
import type { Inside } from "../../../test/support/port-inside.ts";
import { byHost, openInside, openRaw, openWeb, sayRaw, tell } from "../../../test/support/port-inside.ts";

describe("a hostile client", () => {
  it.each([
    ["a length and chunks", "POST / HTTP/1.1\r\nHost: HOST\r\nTOKEN\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"],
    ["two lengths", "POST / HTTP/1.1\r\nHost: HOST\r\nTOKEN\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello"],
    ["two hosts", "GET / HTTP/1.1\r\nHost: HOST\r\nHost: other\r\nTOKEN\r\nConnection: close\r\n\r\n"],
    ["a whole URL", "GET http://other/ HTTP/1.1\r\nHost: HOST\r\nTOKEN\r\nConnection: close\r\n\r\n"],
    ["another coding", "POST / HTTP/1.1\r\nHost: HOST\r\nTOKEN\r\nConnection: close\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n"],
    ["a folded header", "GET / HTTP/1.1\r\nHost: HOST\r\nTOKEN\r\nX-A: 1\r\n 2\r\n\r\n"],
    ["a bare line end", "GET / HTTP/1.1\r\nHost: HOST\r\nTOKEN\r\nX-A: 1\nX-B: 2\r\n\r\n"],
    [
      "an upgrade with a body",
      "GET / HTTP/1.1\r\nHost: HOST\r\nTOKEN\r\nConnection: Upgrade\r\nUpgrade: x\r\nContent-Length: 5\r\n\r\nhello",
    ],
    ["a POST that upgrades", "POST / HTTP/1.1\r\nHost: HOST\r\nTOKEN\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n"],
  ])("gets 400 for %s, and the program inside nothing", async (_what, text) => {
    let asked = 0;
    await using inside = await openWeb((_request, response) => void response.end(String((asked += 1))));
    const said = text.replace("HOST", hostOf(inside.link)).replace("TOKEN", `Belljar-Port-Token: ${inside.link.token}`);
    expect(await sayRaw(inside, said)).toMatch(/^HTTP\/1\.1 400 /);
    expect(asked).toBe(0);
  });

  it("that disconnects before the answer leaves nothing open", async () => {
    let came = (_request: IncomingMessage): void => undefined;
    const request = new Promise<IncomingMessage>((resolve) => (came = resolve));
    await using inside = await openWeb((one) => came(one));
    const socket = connect({ port: Number(inside.ports.origin.port), host: "127.0.0.1" });
    socket.write(`GET / HTTP/1.1\r\nHost: ${hostOf(inside.link)}\r\nBelljar-Port-Token: ${inside.link.token}\r\n\r\n`);
    const closed = once((await request).socket, "close");
    socket.destroy();
    await closed;
  });
});

describe("an upgrade", () => {
  const upgrade = ({ link }: Inside, rest = ""): string =>
    `GET /socket?x HTTP/1.1\r\nHost: ${hostOf(link)}\r\nBelljar-Port-Token: ${link.token}\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n${rest}`;

  it("is asked of the program inside as such, and then carries bytes both ways, the first ones too", async () => {
    const asked: IncomingMessage[] = [];
    const server = createHttpServer().on("upgrade", (request, socket, head) => {
      asked.push(request);
      socket.write("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\nX-Kept: yes\r\n\r\n");
      socket.write(Buffer.concat([Buffer.from("seen "), head]));
      socket.pipe(socket);
    });
    await using inside = await openInside(server);
    const socket = connect({ port: Number(inside.ports.origin.port), host: "127.0.0.1" });
    socket.write(upgrade(inside, "early"));
    const chunks: Buffer[] = [];
    for await (const chunk of socket as AsyncIterable<Buffer>) {
      chunks.push(chunk);
      const text = Buffer.concat(chunks).toString();
      if (text.includes("early") && !text.includes("late") && !socket.writableEnded) socket.end("late");
    }
    expect(Buffer.concat(chunks).toString()).toMatch(
      /^HTTP\/1\.1 101 Switching Protocols\r\n[^]*x-kept: yes\r\n[^]*Upgrade: echo\r\n\r\nseen earlylate$/i,
    );
    expect(asked.map(({ url, headers }) => [url, headers.connection, headers.upgrade])).toEqual([["/socket?x", "Upgrade", "echo"]]);
  });

  it("is answered with 502 if the program inside ends without an answer", async () => {
    await using inside = await openRaw("");
    expect(await sayRaw(inside, upgrade(inside))).toMatch(/^HTTP\/1\.1 502 /);
  });
});

describe("a hostile program inside", () => {
  it.each([
    ["nothing", ""],
    ["what is not HTTP", "SSH-2.0-x\r\n"],
    ["a status that there is not", "HTTP/1.1 099 Odd\r\nContent-Length: 0\r\n\r\n"],
    ["a switch that nobody asked for", "HTTP/1.1 101 Switching\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n"],
    ["a length and chunks", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"],
    ["a head without an end", `HTTP/1.1 200 OK\r\nX: ${"x".repeat(100_000)}`],
  ])("is a 502 when it says %s", async (_what, said) => {
    await using inside = await openRaw(said);
    expect((await askPort(inside.ports.origin, byHost(inside))).status).toBe(502);
    expect(inside.ports.failures).toEqual([]);
  });

  it("breaks only its own answer if it ends in the middle", async () => {
    await using inside = await openRaw("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf");
    const answer = await openAnswer(inside.ports.origin, byHost(inside));
    answer.resume();
    await once(answer, "error");
    expect(inside.ports.failures).toEqual([]);
  });

  it("may refuse to switch protocols, and its answer ends with the connection", async () => {
    await using inside = await openRaw("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
    const token = `Belljar-Port-Token: ${inside.link.token}`;
    const said = `GET / HTTP/1.1\r\nHost: ${hostOf(inside.link)}\r\n${token}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n`;
    expect(await sayRaw(inside, said)).toMatch(/^HTTP\/1\.1 200 OK\r\nConnection: close\r\n[^]*\r\n\r\nok$/);
  });

  it("cannot add a header by its reason phrase", async () => {
    await using inside = await openRaw("HTTP/1.1 200 OK\tx\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
    expect((await askPort(inside.ports.origin, byHost(inside))).status).toBe(200);
  });

  it("may answer before it has read the request", async () => {
    await using inside = await openInside(
      createServer(
        (socket) => void socket.once("data", () => socket.end("HTTP/1.1 413 No\r\nContent-Length: 3\r\nConnection: close\r\n\r\nno!")),
      ),
    );
    const answer = await askPort(inside.ports.origin, { ...byHost(inside), method: "POST", body: "x".repeat(4_000_000) });
    expect(answer).toMatchObject({ status: 413, text: "no!" });
  });
});

describe("a kept connection", () => {
  it("takes the next request of a client whose last body nobody read", async () => {
    await using inside = await openInside(
      createServer(
        (socket) => void socket.once("data", () => socket.end("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok")),
      ),
    );
    const head = `HTTP/1.1\r\nHost: ${hostOf(inside.link)}\r\nBelljar-Port-Token: ${inside.link.token}\r\n`;
    const body = "x".repeat(4_000_000);
    const first = `POST / ${head}Content-Length: ${body.length}\r\n\r\n${body}`;
    expect((await sayRaw(inside, `${first}GET / ${head}Connection: close\r\n\r\n`)).match(/HTTP\/1\.1 200 OK/g)).toHaveLength(2);
  });

  it("is replaced if it closes while the next request is sent", async () => {
    let connections = 0;
    await using inside = await openInside(
      createServer((socket) => {
        connections += 1;
        socket.once("data", () => {
          socket.write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
          socket.once("data", () => socket.destroy());
        });
      }),
    );
    const ask = async () => (await askPort(inside.ports.origin, byHost(inside))).text;
    expect([await ask(), await ask()]).toEqual(["ok", "ok"]);
    expect(connections).toBe(2);
  });

  it("carries one request after the other", async () => {
    let connections = 0;
    const server = createHttpServer(tell).on("connection", () => (connections += 1));
    await using inside = await openInside(server);
    for (let count = 0; count < 3; count += 1) expect((await askPort(inside.ports.origin, byHost(inside))).status).toBe(200);
    expect(connections).toBe(1);
  });

  it("never carries a non-idempotent request twice", async () => {
    const said: string[] = [];
    await using inside = await openInside(
      createServer((socket) =>
        socket.on("data", (chunk: Buffer) => {
          said.push(chunk.toString().split(" ", 1)[0] ?? "");
          if (said.at(-1) === "GET") socket.write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
          else socket.destroy();
        }),
      ),
    );
    await askPort(inside.ports.origin, byHost(inside));
    expect((await askPort(inside.ports.origin, { ...byHost(inside), method: "DELETE" })).status).toBe(502);
    expect(said).toEqual(["GET", "DELETE"]);
  });
});
