import { once } from "node:events";
import { createServer } from "node:net";
import { connect } from "node:tls";
import { expect, it } from "vitest";
import { converse, openConnect, openEgressLab, openOrigin } from "../../../test/support/egress-lab.ts";
import { helloOf, withExtension } from "../../../test/support/tls-hello.ts";
import { createSecretGuard } from "../secrets/create-secret-guard.ts";
import { createPlaceholder } from "../secrets/placeholder.ts";
import { createSandboxAuthority } from "../tls/sandbox-authority.ts";

const INSIDE = createSandboxAuthority();

/** A server name extension with any name. */
function serverName(name: string | Buffer, type = 0): Buffer {
  const bytes = Buffer.from(name);
  const length = (value: number): readonly number[] => [value >> 8, value & 255];
  return Buffer.from([...length(bytes.length + 3), type, ...length(bytes.length), ...bytes]);
}

function inRecords(hello: Buffer, size: number): Buffer {
  const body = hello.subarray(5);
  const parts = Array.from({ length: Math.ceil(body.length / size) }, (_, index) => body.subarray(index * size, (index + 1) * size));
  return Buffer.concat(parts.map((part) => Buffer.concat([Buffer.of(22, 3, 1, part.length >> 8, part.length & 255), part])));
}

const plain = (): Promise<Buffer> => helloOf({});
const named = async (name: string | Buffer): Promise<Buffer> => withExtension(await plain(), 0, serverName(name));
/** SSL 2.0, with a challenge of sixteen bytes. */
const SSL2 = Buffer.concat([Buffer.of(0x80, 0x2e, 1, 3, 1, 0, 0x15, 0, 0, 0, 0x10), Buffer.alloc(37, 7)]);

const HELLOS: Readonly<Record<string, () => Promise<Buffer>>> = {
  "names another host": () => named("other.test"),
  "names a host below": () => named("a.good.test"),
  "names a host of which ours is the end": () => named("evilgood.test"),
  "has a NUL behind the name": () => named("good.test\0.other.test"),
  "has a NUL in front": () => named("\0good.test"),
  "has a space behind the name": () => named("good.test "),
  "names an address": () => named("127.0.0.1"),
  "names a port": () => named("good.test:443"),
  "has an empty name": () => named(""),
  "has two dots behind": () => named("good.test.."),
  "names no host": plain,
  "has a name of another kind": async () => withExtension(await plain(), 0, serverName("good.test", 1)),
  "names two hosts": async () => withExtension(await named("good.test"), 0, serverName("other.test")),
  "names two hosts in one extension": async () =>
    withExtension(
      await plain(),
      0,
      Buffer.concat([Buffer.of(0, 24), serverName("good.test").subarray(2), serverName("other.test").subarray(2)]),
    ),
  "names another host, in records of one byte": async () => inRecords(await named("other.test"), 1),
  "hides an inner hello (ECH)": async () => withExtension(await named("good.test"), 0xfe0d, Buffer.alloc(64, 1)),
  "is an inner hello": async () => withExtension(await named("good.test"), 0xfe0d, Buffer.of(1)),
  "names another host over TLS 1.2": () => helloOf({ servername: "other.test", maxVersion: "TLSv1.2" }),
  "is of SSL 2.0": async () => SSL2,
  "is plain HTTP": async () => Buffer.from("GET / HTTP/1.1\r\nHost: good.test\r\n\r\n"),
  "is an alert first": async () => Buffer.concat([Buffer.of(21, 3, 1, 0, 2, 1, 0), await named("good.test")]),
  "is HTTP/2 as it is": async () => Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
};

it.each(Object.entries(HELLOS))("lets nothing through that %s", async (_what, hello) => {
  let received = 0;
  await using origin = await openOrigin(createServer((socket) => void socket.on("data", ({ length }) => (received += length))));
  const host = `good.test:${origin.port}`;
  for (const guard of [undefined, guardFor(host)]) {
    await using lab = await openEgressLab({
      policy: { allow: [`https://${host}`] },
      names: { "good.test": ["127.0.0.1"] },
      limits: { headMs: 500 },
      ...(guard && { guard }),
    });
    await converse(await openConnect(lab, host), await hello());
    expect(lab.records.map(({ verdict, reason }) => [verdict, reason])).toEqual([
      ["refused", expect.stringMatching(/sni-missing|sni-mismatch|encrypted-hello|not-tls|too-slow|bad-request/)],
    ]);
  }
  expect(received).toBe(0);
});

it.each(["GOOD.test", "good.test.", "good.test"])("accepts %s as a spelling of the name", async (name) => {
  const hello = await named(name);
  await using origin = await openOrigin(createServer((socket) => void socket.once("data", (bytes) => socket.end(bytes))));
  const host = `good.test:${origin.port}`;
  await using lab = await openEgressLab({ policy: { allow: [`https://${host}`] }, names: { "good.test": ["127.0.0.1"] } });
  expect(await converse(await openConnect(lab, host), inRecords(hello, 4000))).toContain(name);
});

function guardFor(host: string): ReturnType<typeof createSecretGuard> {
  return createSecretGuard({
    owner: "local",
    uses: { API_KEY: { secret: "api", hosts: [host] } },
    placeholders: { API_KEY: createPlaceholder() },
    store: { reveal: async () => "value" },
    authority: INSIDE,
  });
}

it("speaks only HTTP/1.1 on decrypted TLS, and starts no session that another host would accept", async () => {
  const host = "good.test:443";
  await using lab = await openEgressLab({
    policy: { allow: ["good.test"] },
    names: { "good.test": ["93.184.215.14"] },
    guard: guardFor(host),
  });
  const h2 = connect({ socket: await openConnect(lab, host), servername: "good.test", ca: INSIDE.certificatePem, ALPNProtocols: ["h2"] });
  const [error] = (await once(h2, "error")) as [Error];
  expect(error.message).toMatch(/alert|reset|disconnected|protocol/i);
  const first = connect({
    socket: await openConnect(lab, host),
    servername: "good.test",
    ca: INSIDE.certificatePem,
    ALPNProtocols: ["h2", "http/1.1"],
  });
  await once(first, "secureConnect");
  expect(first.alpnProtocol).toBe("http/1.1");
  first.destroy();
});
