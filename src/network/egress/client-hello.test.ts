import * as fc from "fast-check";
import { expect, it } from "vitest";
import { HELLO_MAX_BYTES, parseClientHello } from "./client-hello.ts";
import { helloOf, withExtension } from "../../../test/support/tls-hello.ts";

/** The same handshake bytes over several records. */
function splitRecords(hello: Buffer, size: number): Buffer {
  const body = hello.subarray(5);
  const parts: Buffer[] = [];
  for (let at = 0; at < body.length; at += size) {
    const part = body.subarray(at, at + size);
    parts.push(Buffer.from([22, 3, 1, part.length >> 8, part.length & 255]), part);
  }
  return Buffer.concat(parts);
}

const serverName = (name: string): Buffer => {
  const length = (value: number): readonly number[] => [value >> 8, value & 255];
  return Buffer.from([...length(name.length + 3), 0, ...length(name.length), ...Buffer.from(name)]);
};

it("finds the server name, or that there is none", async () => {
  expect(parseClientHello(await helloOf({ servername: "good.test" }))).toEqual({
    kind: "hello",
    hello: { serverName: "good.test", isEncrypted: false },
  });
  expect(parseClientHello(await helloOf({}))).toEqual({ kind: "hello", hello: { isEncrypted: false } });
});

it("detects an encrypted hello", async () => {
  const hello = withExtension(await helloOf({ servername: "good.test" }), 0xfe0d, Buffer.alloc(40));
  expect(parseClientHello(hello)).toEqual({ kind: "hello", hello: { serverName: "good.test", isEncrypted: true } });
});

it("rejects a hello with two names, or with bytes behind the name", async () => {
  const hello = await helloOf({});
  expect(parseClientHello(withExtension(hello, 0, serverName("a.test")))).toMatchObject({ hello: { serverName: "a.test" } });
  expect(parseClientHello(withExtension(withExtension(hello, 0, serverName("a.test")), 0, serverName("b.test")))).toEqual({
    kind: "other",
  });
  expect(parseClientHello(withExtension(hello, 0, Buffer.concat([serverName("a.test"), Buffer.from([0])])))).toEqual({ kind: "other" });
});

it("asks for more until the hello is whole, however it is cut into records and pieces", async () => {
  const hello = await helloOf({ servername: "good.test" });
  for (const bytes of [hello, splitRecords(hello, 7), splitRecords(hello, 1)]) {
    expect(parseClientHello(bytes)).toMatchObject({ kind: "hello", hello: { serverName: "good.test" } });
    for (let end = 0; end < bytes.length; end += 13) expect(parseClientHello(bytes.subarray(0, end))).toEqual({ kind: "partial" });
  }
});

it.each(["GET / HTTP/1.1\r\n", "SSH-2.0-OpenSSH", "\u0016\u0002\u0001", "\u0016\u0003\u0001\u0000\u0001\u0002"])(
  "takes %j for no TLS",
  (text) => {
    expect(parseClientHello(Buffer.from(text, "latin1"))).toEqual({ kind: "other" });
  },
);

it.each([
  ["another type", [23, 3, 1, 0, 1, 1]],
  ["another version", [22, 2, 1, 0, 1, 1]],
  ["no bytes", [22, 3, 1, 0, 0, 1]],
  ["more bytes than TLS allows", [22, 3, 1, 0x48, 1, 1]],
])("takes a record of %s for no TLS", (_what, bytes) => {
  expect(parseClientHello(Buffer.from(bytes))).toEqual({ kind: "other" });
});

it("never throws and never waits for more than its bound", async () => {
  const hello = await helloOf({ servername: "good.test" });
  const changed = fc.array(fc.tuple(fc.nat(hello.length - 1), fc.nat(255)), { maxLength: 8 }).map((changes) => {
    const bytes = Buffer.from(hello);
    for (const [at, value] of changes) bytes[at] = value;
    return bytes;
  });
  const wild = fc.uint8Array({ maxLength: 400 }).map((bytes) => Buffer.from([22, 3, 1, ...bytes]));
  fc.assert(
    fc.property(fc.oneof(changed, wild), (bytes) => {
      expect(["hello", "partial", "other"]).toContain(parseClientHello(bytes).kind);
    }),
    { numRuns: 1000 },
  );
  const endless = Buffer.concat([Buffer.from([22, 3, 1, 0x40, 0, 1, 0xff, 0xff, 0xff]), Buffer.alloc(HELLO_MAX_BYTES)]);
  expect(parseClientHello(endless)).toEqual({ kind: "other" });
});

it.each([
  ["another type", 0, 23],
  ["another version", 1, 2],
])("does not read on in a record of %s", async (_what, at, value) => {
  const bytes = splitRecords(await helloOf({ servername: "good.test" }), 100);
  expect(parseClientHello(bytes)).toMatchObject({ kind: "hello" });
  bytes[105 + at] = value;
  expect(parseClientHello(bytes)).toEqual({ kind: "partial" });
});
