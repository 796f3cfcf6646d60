import { once } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer } from "node:https";
import type { Duplex } from "node:stream";
import { connect } from "node:tls";
import { brotliCompressSync, deflateSync, gzipSync } from "node:zlib";
import { expect, it } from "vitest";
import { converse, openConnect, openEgressLab, openOrigin } from "../../../support/egress-lab.ts";
import { createSecretGuard } from "../../../../src/network/secrets/create-secret-guard.ts";
import { createPlaceholder } from "../../../../src/network/secrets/placeholder.ts";
import { createSandboxAuthority, createServerCertificates } from "../../../../src/network/tls/sandbox-authority.ts";

const OUTSIDE = createSandboxAuthority();
const INSIDE = createSandboxAuthority();
const PLACEHOLDER = createPlaceholder();
const VALUE = "sk-the-real-value-0123456789";

interface SecretLab extends AsyncDisposable {
  /** Sends a request with these headers, and returns the whole answer. `what` is a path, or a method and a path. */
  ask(what: string, ...headers: readonly string[]): Promise<string>;
  reason(): string | undefined;
}

/** A sandbox with a secret for a server with this handler. */
async function openSecretLab(
  answer: (request: IncomingMessage, response: ServerResponse) => void,
  upgrade?: (request: IncomingMessage, socket: Duplex) => void,
): Promise<SecretLab> {
  const certificates = createServerCertificates(OUTSIDE);
  const SNICallback = (name: string, done: (error: null, context: ReturnType<typeof certificates.contextFor>) => void): void =>
    done(null, certificates.contextFor(name));
  const server = createServer({ SNICallback }, answer);
  if (upgrade) server.on("upgrade", upgrade);
  const origin = await openOrigin(server);
  const host = `good.test:${origin.port}`;
  const guard = createSecretGuard({
    owner: "local",
    uses: { API_KEY: { secret: "api", hosts: [host] } },
    placeholders: { API_KEY: PLACEHOLDER },
    store: { reveal: async () => VALUE },
    authority: INSIDE,
  });
  const lab = await openEgressLab({
    policy: { allow: [host] },
    names: { "good.test": ["127.0.0.1"] },
    guard,
    upstreamCa: [OUTSIDE.certificatePem],
  });
  return {
    async ask(what, ...headers) {
      const client = connect({ socket: await openConnect(lab, host), servername: "good.test", ca: INSIDE.certificatePem });
      await once(client, "secureConnect");
      const lines = [
        `${what.startsWith("/") ? "GET " : ""}${what} HTTP/1.1`,
        `Host: ${host}`,
        headers.some((line) => line.startsWith("Upgrade")) ? "Connection: upgrade" : "Connection: close",
        ...headers,
        "",
        "",
      ];
      return converse(client, lines.join("\r\n"));
    },
    reason: () => lab.records.at(-1)?.reason,
    async [Symbol.asyncDispose]() {
      await lab[Symbol.asyncDispose]();
      await origin[Symbol.asyncDispose]();
    },
  };
}

it("masks a value that a server stored and returns to a later request without a placeholder", async () => {
  let kept = "";
  await using lab = await openSecretLab((request, response) => {
    kept = request.headers.authorization ?? kept;
    response.end(`known: ${kept}`);
  });
  await lab.ask("/remember", `Authorization: Bearer ${PLACEHOLDER}`);
  expect(kept).toBe(`Bearer ${VALUE}`);
  const answer = await lab.ask("/recall");
  expect(answer).toContain(`known: Bearer ${PLACEHOLDER}`);
  expect(answer).not.toContain(VALUE);
});

it("masks a value in the reason phrase", async () => {
  await using lab = await openSecretLab((request, response) => {
    response.writeHead(401, `No such key ${request.headers.authorization}`).end();
  });
  const answer = await lab.ask("/", `Authorization: Bearer ${PLACEHOLDER}`);
  expect(answer).toContain(`HTTP/1.1 401 No such key Bearer ${PLACEHOLDER}`);
});

it("refuses an answer in a transfer coding that it cannot decode", async () => {
  await using lab = await openSecretLab((_request, response) => {
    response.writeHead(200, { "transfer-encoding": "gzip, chunked" }).end("compressed");
  });
  expect(await lab.ask("/", `Authorization: Bearer ${PLACEHOLDER}`)).toContain("x-belljar-error: bad-response");
  expect(lab.reason()).toBe("bad-response");
});

it.each([
  ["a part of a page", 206, {}],
  ["changes to a page", 226, {}],
  ["an unknown coding", 200, { "content-encoding": "zstd" }],
  ["two codings", 200, { "content-encoding": "gzip, br" }],
])("refuses an answer with %s, in which no value could be found", async (_what, status, headers) => {
  await using lab = await openSecretLab((_request, response) => void response.writeHead(status, headers).end("some"));
  expect(await lab.ask("/", `Authorization: Bearer ${PLACEHOLDER}`)).toContain("x-belljar-error: bad-response");
  expect(lab.reason()).toBe("bad-response");
});

it.each([
  ["x-gzip", gzipSync],
  ["GZIP", gzipSync],
  ["identity", (text: string) => Buffer.from(text)],
])("masks a value in an answer in the coding %s", async (coding, encode) => {
  await using lab = await openSecretLab((_request, response) => {
    response.writeHead(200, { "content-encoding": coding }).end(encode(`known: ${VALUE}.`));
  });
  const answer = await lab.ask("/", `Authorization: Bearer ${PLACEHOLDER}`);
  expect(answer).toContain(`known: ${PLACEHOLDER}.`);
  expect(answer).not.toMatch(/content-encoding/i);
});

it("keeps the Content-Length of an answer to HEAD", async () => {
  await using lab = await openSecretLab((_request, response) => response.writeHead(200, { "content-length": 7 }).end("a body!"));
  expect(await lab.ask("HEAD /")).toContain("content-length: 7");
  expect(await lab.ask("/")).not.toContain("content-length");
});

/** A frame as a server sends it. */
function frame(text: string | Buffer, first = 0x81): Buffer {
  const content = Buffer.from(text);
  const head = content.length < 126 ? Buffer.of(first, content.length) : Buffer.of(first, 126, content.length >> 8, content.length & 255);
  return Buffer.concat([head, content]);
}

async function askWebSocket(say: (socket: Duplex) => void, ...headers: readonly string[]): Promise<string> {
  await using lab = await openSecretLab(
    (_request, response) => response.end(),
    (request, socket) => {
      socket.write("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n");
      socket.write(`X-Extensions: ${request.headers["sec-websocket-extensions"]}\r\n\r\n`);
      say(socket);
      socket.end();
    },
  );
  return await lab.ask("/", "Upgrade: websocket", ...headers);
}

const HALF = VALUE.length / 2;

it("masks values on a WebSocket, even if its request held no placeholder", async () => {
  const answer = await askWebSocket((socket) => socket.write(frame(`the ${VALUE}!`)), "Sec-WebSocket-Extensions: permessage-deflate");
  expect(answer.toLowerCase()).toContain("x-extensions: undefined");
  expect(answer).toContain(frame(`the ${"*".repeat(VALUE.length)}!`).toString("latin1"));
});

it("masks a value that is split into frames, with other frames between", async () => {
  const pieces = [
    frame(VALUE.slice(0, HALF), 0x01),
    frame(`ping ${VALUE}`, 0x89),
    frame("", 0x00),
    frame(`${VALUE.slice(HALF)} after`, 0x80),
  ];
  const answer = await askWebSocket((socket) => {
    for (const byte of Buffer.concat([...pieces, frame("next")])) socket.write(Buffer.of(byte));
  });
  const stars = "*".repeat(HALF);
  const expected = [
    frame(stars, 0x01),
    frame(`ping ${stars}${stars}`, 0x89),
    frame("", 0x00),
    frame(`${stars} after`, 0x80),
    frame("next"),
  ];
  expect(answer).toContain(Buffer.concat(expected).toString("latin1"));
});

it("passes a complete message at once, even if its end looks like the start of a value", async () => {
  const many = Array.from({ length: 3000 }, () => frame("s"));
  const answer = await askWebSocket((socket) => socket.write(Buffer.concat(many)));
  expect(answer).toContain(Buffer.concat(many).toString("latin1"));
});

it.each([
  ["masked", Buffer.concat([Buffer.of(0x81, 0x80 | VALUE.length, 0, 0, 0, 0), Buffer.from(VALUE)])],
  ["compressed", frame(VALUE, 0xc1)],
  ["of no kind that there is", frame(VALUE, 0x83)],
  ["no frames", Buffer.from(`GET / ${VALUE}`)],
])("closes a WebSocket whose frames are %s", async (_what, bytes) => {
  const answer = await askWebSocket((socket) => socket.write(bytes));
  expect(answer.toLowerCase()).toMatch(/^http\/1.1 101 [^]*upgrade: websocket\r\n\r\n$/);
});

it("refuses an answer that switches to a protocol that was not requested", async () => {
  await using lab = await openSecretLab(
    (_request, response) => response.end(),
    (_request, socket) => socket.end(`HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n${VALUE}`),
  );
  expect(await lab.ask("/", "Upgrade: websocket")).toContain("x-belljar-error: bad-response");
});

it.each([206, 226])("refuses a partial answer: %i", async (status) => {
  await using lab = await openSecretLab((_request, response) => {
    response.writeHead(status, { "content-range": "bytes 0-4/9" }).end(VALUE.slice(0, 5));
  });
  const answer = await lab.ask("/", "Range: bytes=0-4");
  expect(answer).toContain("x-belljar-error: bad-response");
  expect(answer).not.toContain(VALUE.slice(0, 5));
});

it.each(["Range", "Request-Range", "X-MS-Range", "If-Range", "A-IM"])("requests the whole body despite %s", async (name) => {
  const seen: string[] = [];
  await using lab = await openSecretLab((request, response) => {
    seen.push(...Object.keys(request.headers));
    response.end("whole");
  });
  expect(await lab.ask("/", `${name}: bytes=0-4`)).toContain("whole");
  expect(seen).not.toContain(name.toLowerCase());
});

it("removes trailers and early hints, and masks every header", async () => {
  await using lab = await openSecretLab((_request, response) => {
    response.writeEarlyHints({ link: `</${VALUE}>; rel=preload` });
    response.writeHead(302, {
      location: `/?k=${encodeURIComponent(VALUE)}`,
      "set-cookie": [`a=${VALUE}`, "b=1"],
      etag: `"${VALUE}"`,
      trailer: "x-key",
    });
    response.addTrailers({ "x-key": VALUE });
    response.end();
  });
  const answer = await lab.ask("/");
  expect(answer).toContain(`location: /?k=${PLACEHOLDER}`);
  expect(answer).not.toContain(VALUE);
  expect(answer.toLowerCase()).not.toContain("x-key");
});

it.each(["gzip", "br", "deflate"])("masks an answer in %s although identity was requested", async (coding) => {
  const compress = { gzip: gzipSync, br: brotliCompressSync, deflate: deflateSync }[coding] ?? gzipSync;
  await using lab = await openSecretLab((_request, response) => {
    response.writeHead(200, { "content-encoding": coding }).end(compress(`${" the sea ".repeat(500)}the ${VALUE}!`));
  });
  expect(await lab.ask("/", "Accept-Encoding: gzip, br, deflate")).toContain(`the ${PLACEHOLDER}!`);
});

it.each(["zstd", "gzip, gzip", "compress"])("refuses an answer in %s", async (coding) => {
  await using lab = await openSecretLab((_request, response) => {
    response.writeHead(200, { "content-encoding": coding }).end(VALUE);
  });
  expect(await lab.ask("/")).toContain("x-belljar-error: bad-response");
});

it("masks each part of a multipart answer, and each event as it comes", async () => {
  await using lab = await openSecretLab((_request, response) => {
    response.writeHead(200, { "content-type": "multipart/mixed; boundary=b" });
    response.write(`--b\r\ncontent-transfer-encoding: base64\r\n\r\n${Buffer.from(`a key: ${VALUE}`).toString("base64")}\r\n`);
    response.end(`--b\r\n\r\ndata: ${VALUE}\n\n--b--`);
  });
  const answer = await lab.ask("/");
  expect(answer).toContain(`data: ${PLACEHOLDER}\n\n`);
  expect(answer).not.toContain(Buffer.from(`a key: ${VALUE}`).toString("base64").slice(12, 20));
});
