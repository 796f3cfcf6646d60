import { promisify } from "node:util";
import { deflate } from "node:zlib";

const ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~";
const LINE_BYTES = 52;
const GROUP_BYTES = 4;
const GROUP_DIGITS = 5;

/** A content as it stands whole in git's binary patches: its size, then its deflated bytes in lines of base 85. */
export async function toLiteral(content: Buffer): Promise<string> {
  const packed = await promisify(deflate)(content);
  const lines = [`literal ${content.length}`];
  for (let at = 0; at < packed.length; at += LINE_BYTES) lines.push(toLine(packed.subarray(at, at + LINE_BYTES)));
  return `${lines.join("\n")}\n\n`;
}

/** The first character is the number of bytes: A is 1, Z is 26, a is 27. The last group is filled with zeros. */
function toLine(bytes: Buffer): string {
  const length = String.fromCharCode(bytes.length <= 26 ? 64 + bytes.length : 70 + bytes.length);
  const padded = Buffer.alloc(Math.ceil(bytes.length / GROUP_BYTES) * GROUP_BYTES);
  bytes.copy(padded);
  let line = length;
  for (let at = 0; at < padded.length; at += GROUP_BYTES) line += toDigits(padded.readUInt32BE(at));
  return line;
}

function toDigits(group: number): string {
  let digits = "";
  for (let rest = group; digits.length < GROUP_DIGITS; rest = Math.floor(rest / ALPHABET.length))
    digits = ALPHABET.charAt(rest % ALPHABET.length) + digits;
  return digits;
}
