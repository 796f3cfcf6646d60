import { equal, ok } from "node:assert/strict";
import { EchoMask } from "../../../src/network/secrets/echo-mask.ts";
import { createEchoPatterns } from "../../../src/network/secrets/echo-patterns.ts";
import { EchoScanner } from "../../../src/network/secrets/echo-scanner.ts";
import { pureTarget } from "../fuzz-target.ts";

const VALUE = "sk-3f+Ab/c9=Z";
const BASE64 = Buffer.from(VALUE).toString("base64");
const HEX = Buffer.from(VALUE).toString("hex");
const scanner = new EchoScanner(createEchoPatterns([{ value: VALUE, placeholder: `belljar_secret_${"a".repeat(26)}` }]));

/** An answer of a secret's host: the first byte says how it is cut. The value does not come through, however it is cut, and what hides nothing stays. */
export const echoMask = pureTarget({
  seeds: [`\u0007a ${VALUE} b`, `\u0003${BASE64.slice(0, 5)}\r\n${BASE64.slice(5)}`, `\u0001%73%6b-3f`, `\u0002${HEX}`, "\u0005plain text"],
  words: [VALUE, BASE64, HEX, "\\u0073", "&#115;", "%25", "%", "\\", "&amp;", "=\r\n", "\0", encodeURIComponent(VALUE)],
  run(input) {
    const size = Math.max(1, input[0] ?? 1);
    const bytes = input.subarray(1);
    const whole = mask([bytes]);
    equal(mask(chunksOf(bytes, size)).toString("latin1"), whole.toString("latin1"));
    ok(!whole.includes(VALUE) && !whole.toString("latin1").toLowerCase().includes(VALUE.toLowerCase()), "the value came through");
    ok(!whole.includes(BASE64) && !whole.includes(HEX), "the value came through encoded");
    ok(!decodeOnce(whole.toString("latin1")).includes(VALUE), "the value came through escaped");
    equal(mask([bytes], true).length, bytes.length);
  },
});

function chunksOf(bytes: Buffer, size: number): Buffer[] {
  return Array.from({ length: Math.ceil(bytes.length / size) }, (_value, index) => bytes.subarray(index * size, (index + 1) * size));
}

function mask(chunks: readonly Buffer[], keepsLength = false): Buffer {
  const one = new EchoMask(scanner, { keepsLength });
  return Buffer.concat([...chunks.map((chunk) => one.push(chunk)), one.end()]);
}

/** As a program inside would undo it. After a large `U` languages read eight digits: `\U0073` is no character. */
function decodeOnce(text: string): string {
  return text
    .replaceAll(/%([0-9a-f]{2})/gi, (_match, code: string) => String.fromCharCode(Number.parseInt(code, 16)))
    .replaceAll(/\\u00([0-7][0-9a-fA-F])/g, (_match, code: string) => String.fromCharCode(Number.parseInt(code, 16)));
}
