import { expect, it } from "vitest";
import { encodeAnswer, parseQuestion } from "./dns-message.ts";

const RECURSION = 0x0100;

function encodeQuery(labels: readonly string[], { flags = RECURSION, questions = 1, type = 1, kind = 1 } = {}): Buffer {
  const message = Buffer.concat([
    Buffer.alloc(12),
    ...labels.map((label) => Buffer.from([label.length, ...Buffer.from(label, "latin1")])),
    Buffer.from([0, type >> 8, type & 255, kind >> 8, kind & 255]),
  ]);
  message.writeUInt16BE(0x1234, 0);
  message.writeUInt16BE(flags, 2);
  message.writeUInt16BE(questions, 4);
  return message;
}

it("reads the question of a query", () => {
  const message = encodeQuery(["WWW", "example", "COM"], { type: 28 });
  expect(parseQuestion(Buffer.concat([message, Buffer.from("more")]))).toEqual({
    id: 0x1234,
    name: "www.example.com",
    type: 28,
    isInternet: true,
    section: message.subarray(12),
    recursionDesired: true,
  });
  expect(parseQuestion(encodeQuery(["a"], { kind: 3, flags: 0 }))).toMatchObject({ isInternet: false, recursionDesired: false });
  expect(parseQuestion(encodeQuery([]))).toMatchObject({ name: "" });
});

it.each([
  ["a response", { flags: 0x8000 }],
  ["another operation", { flags: 0x0800 }],
  ["no question", { questions: 0 }],
  ["two questions", { questions: 2 }],
])("reads no question from %s", (_, header) => {
  expect(parseQuestion(encodeQuery(["a"], header))).toBeUndefined();
});

it("reads no question that is cut off, at any byte", () => {
  const message = encodeQuery(["example", "com"]);
  for (let length = 0; length < message.length; length++) expect(parseQuestion(message.subarray(0, length))).toBeUndefined();
});

it("holds labels to 63 bytes, and names to 255", () => {
  const [longest, tooLong] = ["a".repeat(63), "a".repeat(64)];
  expect(parseQuestion(encodeQuery([longest]))).toMatchObject({ name: longest });
  expect(parseQuestion(encodeQuery([tooLong]))).toBeUndefined();
  expect(parseQuestion(encodeQuery([longest, longest, longest, "a".repeat(61)]))?.name).toHaveLength(253);
  expect(parseQuestion(encodeQuery([longest, longest, longest, "a".repeat(62)]))).toBeUndefined();
});

it("encodes an answer behind its question", () => {
  const query = encodeQuery(["a"]);
  const question = parseQuestion(query);
  if (!question) throw new Error("The query is not read");
  const header = [0x12, 0x34, 0x81, 0x80, 0, 1, 0, 1, 0, 0, 0, 0];
  const record = [0xc0, 12, 0, 1, 0, 1, 0, 0, 1, 44, 0, 4, 198, 18, 0, 9];
  expect([...encodeAnswer(question, { code: 0, address: "198.18.0.9", ttlSeconds: 300 })]).toEqual([
    ...header,
    ...query.subarray(12),
    ...record,
  ]);
  expect(encodeAnswer(question, { code: 0, address: "198.18.0.9" }).subarray(-10, -6)).toEqual(Buffer.alloc(4));
  const unknown = [0x12, 0x34, 0x80, 0x83, 0, 1, 0, 0, 0, 0, 0, 0];
  expect([...encodeAnswer({ ...question, recursionDesired: false }, { code: 3 })]).toEqual([...unknown, ...query.subarray(12)]);
});
