import { deepStrictEqual, ok } from "node:assert/strict";
import { Readable } from "node:stream";
import { encodeMessage, MESSAGE_MAX_BYTES, readMessages } from "../../../src/gateway/e2b/envd/connect/envelope.ts";
import { PARTS_MAX, readFileParts } from "../../../src/gateway/e2b/envd/files/file-parts.ts";
import { pureTarget } from "../fuzz-target.ts";
import { codeOf } from "./refused.ts";

type Told = readonly [values: readonly unknown[], code: string | undefined];

/** Messages in envelopes. However a request is cut into pieces, the same is read of it. */
export const e2bEnvelopes = pureTarget({
  seeds: [
    encodeMessage({ process: { cmd: "true" } }),
    Buffer.concat([encodeMessage({}), encodeMessage([1])]),
    Buffer.from([1, 0, 0, 0, 0]),
    Buffer.from([2, 0, 0, 0, 2, 0x7b, 0x7d]),
  ],
  words: [Buffer.from([0, 0, 0, 0]), Buffer.from([0, 0, 0x40, 0, 0]), Buffer.from([0xff, 0xff]), "{}", "[[", "__proto__", "\\ud800"],
  async run(input) {
    const whole = await readAll([input]);
    deepStrictEqual(await readAll(Array.from(input, (byte) => Buffer.of(byte))), whole);
    const [messages] = whole;
    ok(messages.length * 5 <= input.length && input.length <= MESSAGE_MAX_BYTES);
    const again = Buffer.concat(messages.map((message) => encodeMessage(message)));
    deepStrictEqual(await readAll([again]), [JSON.parse(JSON.stringify(messages)), undefined]);
  },
});

async function readAll(pieces: readonly Buffer[]): Promise<Told> {
  const values: unknown[] = [];
  try {
    for await (const message of readMessages(Readable.from(pieces))) values.push(message);
    return [values, undefined];
  } catch (error) {
    return [values, codeOf(error)];
  }
}

const TYPE = "multipart/form-data; boundary=b";
const HEAD = '--b\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\n';

/** Forms with files. However a form is cut into pieces, the same files come of it, and no more bytes than it has. */
export const e2bForms = pureTarget({
  seeds: [`${HEAD}one\r\n--b--\r\n`, `${HEAD}one\r\n${HEAD}two\r\n--b--\r\n`, `${HEAD}cut`, "--b--\r\n"],
  words: ["--b", "\r\n", "\r\n--b--", 'name="file"', 'filename="../x"', "filename*=UTF-8''%ff", "Content-Type: a/b", "\0"],
  async run(input) {
    const whole = await readForm([input]);
    const [files, code] = whole;
    ok(files.length <= PARTS_MAX && Buffer.byteLength(files.map(([, text]) => text).join("")) <= 3 * input.length);
    const halves = await readForm([input.subarray(0, input.length >> 1), input.subarray(input.length >> 1)]);
    // Of a form that is refused, it is open how much was read before.
    if (code === undefined) deepStrictEqual(halves, whole);
    else ok(halves[1] !== undefined);
  },
});

async function readForm(
  pieces: readonly Buffer[],
): Promise<readonly [readonly (readonly [string | undefined, string])[], string | undefined]> {
  const files: (readonly [string | undefined, string])[] = [];
  try {
    await readFileParts(Readable.from(pieces.filter(({ length }) => length > 0)), TYPE, async ({ fileName, content }) => {
      const chunks: Buffer[] = [];
      for await (const chunk of content) chunks.push(chunk as Buffer);
      files.push([fileName, Buffer.concat(chunks).toString("latin1")]);
    });
    return [files, undefined];
  } catch (error) {
    return [files, codeOf(error)];
  }
}
