import { Readable } from "node:stream";
import { expect, it } from "vitest";
import { encodeEnd, encodeMessage, MESSAGE_MAX_BYTES, readMessage, readMessages } from "./envelope.ts";

async function read(chunks: Iterable<Buffer>): Promise<readonly unknown[]> {
  const messages: unknown[] = [];
  for await (const message of readMessages(Readable.from(chunks))) messages.push(message);
  return messages;
}

function head(flags: number, length: number): Buffer {
  const bytes = Buffer.alloc(5);
  bytes[0] = flags;
  bytes.writeUInt32BE(length, 1);
  return bytes;
}

function* byteByByte(bytes: Buffer): Generator<Buffer> {
  for (const byte of bytes) yield Buffer.from([byte]);
}

it("reads messages however they are cut into chunks", async () => {
  const messages = [{ text: "é".repeat(5_000) }, 1, { list: [null] }];
  const bytes = Buffer.concat(messages.map(encodeMessage));
  expect(await read([bytes])).toEqual(messages);
  expect(await read(byteByByte(bytes))).toEqual(messages);
});

it("reads the first message before the request has ended", async () => {
  const body = new Readable({ read: () => undefined });
  body.push(encodeMessage({ first: true }));
  expect(await readMessage(body)).toEqual({ first: true });
  body.destroy();
});

it("writes how an answer has ended", () => {
  expect(encodeEnd()).toEqual(Buffer.concat([head(2, 2), Buffer.from("{}")]));
  const failure = { code: "not_found", message: "gone" };
  expect(JSON.parse(String(encodeEnd(failure).subarray(5)))).toEqual({ error: failure });
});

it.each([
  ["a cut head", Buffer.from([0, 0]), "ARGUMENTS_INVALID"],
  ["a cut message", Buffer.concat([head(0, 9), Buffer.from("{}")]), "ARGUMENTS_INVALID"],
  ["no JSON", Buffer.concat([head(0, 2), Buffer.from("{]")]), "ARGUMENTS_INVALID"],
  ["no message at all", Buffer.alloc(0), "ARGUMENTS_INVALID"],
  ["flags that nobody knows", Buffer.concat([head(4, 2), Buffer.from("{}")]), "ARGUMENTS_INVALID"],
  ["a compressed message", Buffer.concat([head(1, 2), Buffer.from("{}")]), "NOT_SUPPORTED"],
  ["a length past the limit, before the message comes", head(0, MESSAGE_MAX_BYTES + 1), "REQUEST_TOO_LARGE"],
  ["more values than may be parsed", encodeMessage(Array.from({ length: 1_000_001 }, () => 0)), "ARGUMENTS_INVALID"],
])("refuses %s", async (_, bytes, code) => {
  await expect(readMessage(Readable.from([bytes]))).rejects.toMatchObject({ code });
});
