import { once } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer } from "node:https";
import type { Duplex } from "node:stream";
import { connect } from "node:tls";
import { expect, it } from "vitest";
import { converse, openConnect, openEgressLab, openOrigin } from "../../../test/support/egress-lab.ts";
import { createSecretGuard } from "../secrets/create-secret-guard.ts";
import { createPlaceholder } from "../secrets/placeholder.ts";
import { createSandboxAuthority, createServerCertificates } from "../tls/sandbox-authority.ts";

const OUTSIDE = createSandboxAuthority();
const INSIDE = createSandboxAuthority();
const PLACEHOLDER = createPlaceholder();
const VALUE = "sk-the-real-value-0123456789";

interface SecretLab extends AsyncDisposable {
  /** The whole answer to a request with these headers: a path, or a method and a path. */
  ask(what: string, ...headers: readonly string[]): Promise<string>;
  reason(): string | undefined;
}

/** A sandbox with a secret for a server that answers like this. */
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

it("masks a value that a server kept and gives to a later request without a placeholder", async () => {
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

it("passes on no answer in a transfer coding that hides what it says", async () => {
  await using lab = await openSecretLab((_request, response) => {
    response.writeHead(200, { "transfer-encoding": "gzip, chunked" }).end("compressed");
  });
  expect(await lab.ask("/", `Authorization: Bearer ${PLACEHOLDER}`)).toContain("x-belljar-error: bad-response");
  expect(lab.reason()).toBe("bad-response");
});

it("tells the length of a body that is only asked about", async () => {
  await using lab = await openSecretLab((_request, response) => response.writeHead(200, { "content-length": 7 }).end("a body!"));
  expect(await lab.ask("HEAD /")).toContain("content-length: 7");
  expect(await lab.ask("/")).not.toContain("content-length");
});

it("masks what a server says on a WebSocket, also when its request held no placeholder", async () => {
  await using lab = await openSecretLab(
    (_request, response) => response.end(),
    (request, socket) => {
      socket.end(
        `HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n${request.headers["sec-websocket-extensions"]} ${VALUE}`,
      );
    },
  );
  const answer = await lab.ask("/", "Upgrade: websocket", "Sec-WebSocket-Extensions: permessage-deflate");
  expect(answer).toContain(`undefined ${"*".repeat(VALUE.length)}`);
  expect(answer).not.toContain(VALUE);
});
