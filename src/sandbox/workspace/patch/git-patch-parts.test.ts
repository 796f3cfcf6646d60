import { inflateSync } from "node:zlib";
import { expect, it } from "vitest";
import { toLiteral } from "./binary-literal.ts";
import { quotePath } from "./quote-path.ts";

it.each([
  ["a/b_c.+,@=-1", "a/a/b_c.+,@=-1"],
  ["a b", '"a/a b"'],
  ['a"\\\n\t', '"a/a\\042\\134\\012\\011"'],
  ["\u00c3\u00a4", '"a/\\303\\244"'],
  ["\u0000\u007f", '"a/\\000\\177"'],
  ["!#[]~", '"a/!#[]~"'],
])("a path %j stands in a patch as %s", (key, shown) => {
  expect(quotePath("a", key)).toBe(shown);
});

it("a content without a name of git's stands whole, in lines of git's base 85", async () => {
  const alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~";
  for (const size of [0, 1, 20, 41, 1_000]) {
    const content = Buffer.from(Array.from({ length: size }, (_, index) => (index * 7_919) % 251));
    const [head, ...lines] = (await toLiteral(content)).split("\n");
    expect([head, ...lines.slice(-2)]).toEqual([`literal ${size}`, "", ""]);
    const packed = lines.slice(0, -2).map((line) => {
      const count = line.charCodeAt(0) - (line.charCodeAt(0) >= 97 ? 70 : 64);
      const groups = line.slice(1).match(/.{5}/g) ?? [];
      const bytes = Buffer.alloc(groups.length * 4);
      for (const [index, group] of groups.entries())
        bytes.writeUInt32BE(
          Array.from(group).reduce((sum, digit) => sum * 85 + alphabet.indexOf(digit), 0),
          index * 4,
        );
      expect(count).toBeLessThanOrEqual(52);
      expect([line.length, bytes.length - count < 4]).toEqual([1 + groups.length * 5, true]);
      return bytes.subarray(0, count);
    });
    expect(inflateSync(Buffer.concat(packed))).toEqual(content);
  }
});
