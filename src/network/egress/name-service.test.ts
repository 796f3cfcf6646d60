import { once } from "node:events";
import { createServer as createHttpServer } from "node:http";
import type { Socket } from "node:net";
import { createServer as createTcpServer } from "node:net";
import * as fc from "fast-check";
import { expect, it } from "vitest";
import { converse, openEgressLab, openOrigin, readUntil } from "../../../test/support/egress-lab.ts";
import { parseQuestion } from "./dns-message.ts";

function query(name: string, type = 1, id = 7): Buffer {
  const labels = name.split(".").map((label) => Buffer.from([label.length, ...Buffer.from(label, "latin1")]));
  const message = Buffer.concat([Buffer.from([0, id, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0]), ...labels, Buffer.from([0, 0, type, 0, 1])]);
  return Buffer.concat([Buffer.from([message.length >> 8, message.length & 255]), message]);
}

async function readBytes(socket: Socket, count: number): Promise<Buffer> {
  while (true) {
    const bytes: unknown = socket.read(count);
    if (bytes !== null) return bytes as Buffer;
    await once(socket, "readable");
  }
}

interface Answer {
  readonly id: number;
  readonly code: number;
  readonly address: string | undefined;
}

async function readAnswer(socket: Socket): Promise<Answer> {
  const message = await readBytes(socket, (await readBytes(socket, 2)).readUInt16BE());
  const isAnswered = message.readUInt16BE(6) === 1;
  return { id: message.readUInt16BE(0), code: (message[3] ?? 0) & 15, address: isAnswered ? message.subarray(-4).join(".") : undefined };
}

async function ask(lab: { names(): Promise<Socket> }, name: string, type = 1): Promise<Answer> {
  const socket = await lab.names();
  socket.write(query(name, type));
  const answer = await readAnswer(socket);
  socket.destroy();
  return answer;
}

it("answers an allowed name with an address inside, and carries connections to it", async () => {
  await using origin = await openOrigin(createHttpServer((request, response) => response.end(`I am ${request.headers.host}`)));
  const host = `good.test:${origin.port}`;
  await using lab = await openEgressLab({ policy: { allow: [`http://${host}`] }, names: { "good.test": ["127.0.0.1"] } });
  const { code, address } = await ask(lab, "GOOD.test");
  expect(code).toBe(0);
  expect(address).toMatch(/^198\.1[89]\./);
  expect(lab.inside.listening()).toContain(`${address}:${origin.port}`);
  const client = await lab.inside.dial({ address: address ?? "", port: origin.port });
  expect(await converse(client, `GET / HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`)).toContain(`I am ${host}`);
  expect(await lab.recorded((row) => row.verdict === "allowed")).toMatchObject({ via: "transparent", host: "good.test" });
});

it("keeps a name's address, and gives two names different addresses", async () => {
  await using lab = await openEgressLab({
    policy: { allow: ["*.good.test:81"] },
    names: { "a.good.test": ["1.1.1.1"], "b.good.test": ["1.1.1.1"] },
  });
  const [first, again, other] = [await ask(lab, "a.good.test"), await ask(lab, "a.good.test"), await ask(lab, "b.good.test")];
  expect(again.address).toBe(first.address);
  expect(other.address).not.toBe(first.address);
});

it("dials no address that stands for a name inside, though a rule names the same address of the host", async () => {
  await using lab = await openEgressLab({ policy: { allow: ["good.test:8080"] }, names: { "good.test": ["1.1.1.1"] } });
  const address = (await ask(lab, "good.test")).address ?? "";
  const told = `ask the proxy for good.test:8080`;
  for (const allow of [["good.test:8080"], ["good.test:8080", `${address}:8080`]]) {
    lab.update({ policy: { allow } });
    const get = `GET http://${address}:8080/ HTTP/1.1\r\nHost: ${address}:8080\r\nConnection: close\r\n\r\n`;
    expect(await converse(await lab.proxy(), get)).toMatch(new RegExp(`private-address[^]*${address} stands for good.test`));
    expect(await converse(await lab.proxy(), `CONNECT ${address}:8080 HTTP/1.1\r\n\r\n`)).toContain(told);
    const socks = Buffer.from([5, 1, 0, 5, 1, 0, 1, ...address.split(".").map(Number), 0x1f, 0x90]);
    expect((await converse(await lab.socks(), socks)).charCodeAt(3)).toBe(2);
  }
  expect(lab.records.map(({ reason }) => reason)).toEqual(Array.from({ length: 6 }, () => "private-address"));
});

it("does not resolve names without a rule, or with private addresses", async () => {
  await using lab = await openEgressLab({
    policy: { allow: ["inner.test"] },
    names: { "inner.test": ["192.168.0.1"], "bad.test": ["1.1.1.1"] },
  });
  expect(await ask(lab, "bad.test")).toMatchObject({ code: 3, address: undefined });
  expect(await ask(lab, "inner.test")).toMatchObject({ code: 3, address: undefined });
  expect(lab.records).toMatchObject([
    { via: "dns", host: "bad.test", reason: "no-rule" },
    { via: "dns", host: "inner.test", reason: "private-address" },
  ]);
});

it("returns no IPv6 address for an allowed name", async () => {
  await using lab = await openEgressLab({ policy: { allow: ["good.test"] }, names: { "good.test": ["1.1.1.1"] } });
  expect(await ask(lab, "good.test", 28)).toMatchObject({ code: 0, address: undefined });
});

it("answers several queries on one connection in order", async () => {
  await using lab = await openEgressLab({ policy: { allow: ["good.test"] }, names: { "good.test": ["1.1.1.1"] } });
  const socket = await lab.names();
  socket.write(Buffer.concat([query("good.test", 1, 1), query("good.test", 28, 2), query("bad.test", 1, 3)]));
  const answers = [await readAnswer(socket), await readAnswer(socket), await readAnswer(socket)];
  expect(answers.map(({ id, code }) => [id, code])).toEqual([
    [1, 0],
    [2, 0],
    [3, 3],
  ]);
});

it("drops the least recently resolved name without a connection", async () => {
  await using origin = await openOrigin(createTcpServer((socket) => socket.pipe(socket)));
  const names = { "a.test": ["127.0.0.1"], "b.test": ["127.0.0.1"], "c.test": ["127.0.0.1"] };
  const policy = { allow: Object.keys(names).map((name) => `${name}:${origin.port}`) };
  await using lab = await openEgressLab({ policy, names, limits: { names: 2 } });
  const [a, b] = [await ask(lab, "a.test"), await ask(lab, "b.test")];
  const busy = await lab.inside.dial({ address: a.address ?? "", port: origin.port });
  busy.write("ping");
  await readUntil(busy, "ping");
  const c = await ask(lab, "c.test");
  const listening = lab.inside.listening().join(" ");
  expect(listening).toContain(`${a.address}:`);
  expect(listening).toContain(`${c.address}:`);
  expect(listening).not.toContain(`${b.address}:`);
});

it("closes a connection that sends no query", async () => {
  await using lab = await openEgressLab({ policy: "all" });
  expect(await converse(await lab.names(), Buffer.from([0, 3, 1, 2, 3]))).toBe("");
  expect(await converse(await lab.names(), Buffer.from([255, 255, ...Buffer.alloc(5000)]))).toBe("");
});

it("reads any bytes without failing", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 300 }), (bytes) => {
      const question = parseQuestion(Buffer.from([0, 1, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, ...bytes]));
      expect(question === undefined || question.section.length <= bytes.length).toBe(true);
    }),
  );
});
