import * as fc from "fast-check";
import { expect, it } from "vitest";
import { encodeEverywhere } from "../../../test/support/echo-encoders.ts";
import { EchoMask } from "./echo-mask.ts";
import { createEchoPatterns } from "./echo-patterns.ts";
import { EchoScanner } from "./echo-scanner.ts";

/** The same characters in another order, so that masked outputs differ only if they reveal something. */
const [ONE, OTHER] = [`sk-"<Aé'/+\\Zz0]]>q&7 ~=b9_.x`, `sk-9b=~ 7&q]]>0zZ\\+/'éA<"_.x`];
const PLACEHOLDER = `belljar_secret_${"a".repeat(26)}`;

function scannerFor(...values: readonly string[]): EchoScanner {
  return new EchoScanner(createEchoPatterns(values.map((value) => ({ value, placeholder: PLACEHOLDER }))));
}

function maskWith(scanner: EchoScanner, chunks: readonly Buffer[], keepsLength = false): Buffer {
  const mask = new EchoMask(scanner, { keepsLength });
  return Buffer.concat([...chunks.map((chunk) => mask.push(chunk)), mask.end()]);
}

const [ones, others] = encodeEverywhere([ONE, OTHER]).map((forms) => new Map(forms.map(({ encoder, bytes }) => [encoder, bytes])));

it("is tested with at least twenty encoders", () => {
  expect(ones?.size).toBeGreaterThanOrEqual(20);
});

it.each([...(ones ?? [])])("masks all of a value that %s encoded, wherever the answer is split", (encoder, bytes) => {
  const other = others?.get(encoder) ?? Buffer.alloc(0);
  expect(bytes.equals(other)).toBe(false);
  const scanner = scannerFor(ONE);
  const masked = maskWith(scanner, [bytes]);
  // If the output is the same for another value, it reveals nothing of the value.
  expect(masked.toString("latin1")).toBe(maskWith(scannerFor(OTHER), [other]).toString("latin1"));
  for (let at = 1; at < bytes.length; at++)
    expect(maskWith(scanner, [bytes.subarray(0, at), bytes.subarray(at)]).toString("latin1")).toBe(masked.toString("latin1"));
  expect(
    maskWith(
      scanner,
      [...bytes].map((byte) => Buffer.of(byte)),
    ).toString("latin1"),
  ).toBe(masked.toString("latin1"));
  expect(maskWith(scanner, [bytes], true)).toHaveLength(bytes.length);
});

const SPELLINGS: readonly ((character: string) => string)[] = [
  (character) => character,
  (character) => encodeURIComponent(character),
  (character) => `%25${Buffer.from(character).toString("hex").match(/../g)?.join("%25")}`,
  (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  (character) => `\\\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  (character) => `&#${character.charCodeAt(0)};`,
  (character) => `&amp;#x0${character.charCodeAt(0).toString(16)};`,
  (character) => character.toUpperCase(),
];
const PLAIN_VALUES = ["sk-3f+Ab/c9=Z", "sk-Z9=b/Ac+3f"] as const;

it("masks a value that repeats itself, wherever it begins", () => {
  const letters = fc.string({ unit: fc.constantFrom("x", "y"), minLength: 10, maxLength: 14 });
  fc.assert(
    fc.property(letters, fc.string({ unit: fc.constantFrom("x", "y"), maxLength: 24 }), (value, before) => {
      expect(maskWith(scannerFor(value), [Buffer.from(`${before}${value}`)]).toString()).not.toContain(value);
    }),
    { numRuns: 2000 },
  );
});

it("masks a value whose characters are each encoded differently, in any context", () => {
  const piece = fc.constantFrom(
    "%",
    "%2",
    "%25",
    "\\",
    "\\u",
    "\\u00",
    "&",
    "&#",
    "&#0",
    "&amp;",
    "=",
    "=\r\n",
    "s",
    "sk-",
    "sk-3",
    "\0",
    "c2st",
    "736b",
    "a",
  );
  const around = fc.array(piece, { maxLength: 12 }).map((pieces) => pieces.join(""));
  const ways = fc.array(fc.nat(SPELLINGS.length - 1), { minLength: 13, maxLength: 13 });
  const [scanner, other] = PLAIN_VALUES.map((value) => scannerFor(value)) as [EchoScanner, EchoScanner];
  const write = (value: string, chosen: readonly number[]): string =>
    value
      .split("")
      .map((character, index) => SPELLINGS[chosen[index] ?? 0]?.(character))
      .join("");
  fc.assert(
    fc.property(around, ways, around, fc.nat(200), (before, chosen, after, cut) => {
      const echo = Buffer.from(`${before}${write(PLAIN_VALUES[0], chosen)}.${after}`);
      const masked = maskWith(scanner, [echo.subarray(0, cut), echo.subarray(cut)]).toString("latin1");
      expect(masked).toContain(PLACEHOLDER);
      expect(masked).not.toContain(write(PLAIN_VALUES[0], chosen).slice(0, 12));
      const control = Buffer.from(`${before}${write(PLAIN_VALUES[1], chosen)}.${after}`);
      expect(maskWith(other, [control]).toString("latin1")).toBe(masked);
    }),
    { numRuns: 300 },
  );
});

it("does not change any bytes without a value", () => {
  const scanner = scannerFor(ONE, "another-secret-value");
  const bytes = fc.uint8Array({ maxLength: 300 });
  const almost = fc.string({
    unit: fc.constantFrom("%", "2", "5", "\\", "u", "0", "&", "#", ";", "=", "s", "k", "-", "\n", "\0"),
    maxLength: 300,
  });
  fc.assert(
    fc.property(
      fc.oneof(
        bytes,
        almost.map((text) => Buffer.from(text)),
      ),
      fc.nat(300),
      (some, cut) => {
        const whole = Buffer.from(some);
        expect(maskWith(scanner, [whole.subarray(0, cut), whole.subarray(cut)]).equals(whole)).toBe(true);
      },
    ),
    { numRuns: 300 },
  );
});

it("masks a value in any case, in scripts with cases", () => {
  const value = "sk-École-Ñandú";
  const escaped = (text: string): Buffer =>
    Buffer.from(text.replaceAll(/./gsu, (sign) => `\\u${sign.charCodeAt(0).toString(16).padStart(4, "0")}`));
  const scanner = scannerFor(value);
  for (const text of [value, value.toUpperCase(), value.toLowerCase()])
    for (const bytes of [Buffer.from(text), escaped(text), Buffer.from(text, "utf16le")])
      expect(maskWith(scanner, [bytes]).toString("latin1").replaceAll("\0", "")).toBe(PLACEHOLDER);
  // A character whose small form is two characters stays as it is.
  expect(maskWith(scannerFor("sk-İstanbul-9"), [escaped("sk-İstanbul-9")]).toString()).toBe(PLACEHOLDER);
});

it.each([
  "sk-&#122ebra-0123",
  "sk-&#x7az&#101bra-0123",
  "sk-%7aebra-0123",
  "sk-\\\\172ebra-0123",
  "sk-\\\\u{7a}ebra-0123",
  "sk-\\\\x7aebra-0123",
])("knows where an escape ends that a digit of another base follows, in %s", (text) => {
  const scanner = scannerFor(text.includes("x7az") ? "sk-zzebra-0123" : "sk-zebra-0123");
  expect(maskWith(scanner, [Buffer.from(text)]).toString()).toBe(PLACEHOLDER);
});

it("masks values that overlap, and a value inside another", () => {
  const scanner = scannerFor("secret-key", "key-of-house", "my-secret-key-of-houses");
  const mask = (text: string): string => maskWith(scanner, [Buffer.from(text)]).toString();
  expect(mask("a secret-key-of-house b")).toBe(`a ${PLACEHOLDER} b`);
  expect(mask("my-secret-key-of-houses")).toBe(PLACEHOLDER);
  expect(mask("my-secret-key-of-house!")).toBe(`my-${PLACEHOLDER}!`);
});

it("masks a value that begins again within itself", () => {
  const scanner = scannerFor("aabaabaac");
  for (const text of ["aabaabaabaac", "aaabaabaac", "aabaabaacaabaabaac"]) {
    expect(maskWith(scanner, [Buffer.from(text)]).toString()).not.toContain("aac");
    expect(
      maskWith(
        scanner,
        [...Buffer.from(text)].map((byte) => Buffer.of(byte)),
      ).toString(),
    ).toBe(maskWith(scanner, [Buffer.from(text)]).toString());
  }
});

it("finds a value behind more states than it keeps", () => {
  const numbers = Array.from({ length: 20_000 }, (_, index) => `&#38;#${index % 127}&#${(index * 7) % 127}`);
  const masked = maskWith(scannerFor(ONE), [Buffer.from(numbers.join("")), Buffer.from(`.${JSON.stringify(ONE)}.`)]).toString();
  expect(masked).toMatch(/\."belljar_secret_a{26}"\.$/);
});

it("finds each of seventy values with the same beginning", () => {
  const values = Array.from({ length: 70 }, (_, index) => `sk-${String(index).padStart(3, "0")}-${"z".repeat(10)}`);
  const masked = maskWith(scannerFor(...values), [Buffer.from(values.join(" | "))]).toString();
  expect(masked).toBe(values.map(() => PLACEHOLDER).join(" | "));
});

it("masks a value, without dropping other bytes, when there are too many readings", () => {
  const patterns = createEchoPatterns([{ value: ONE, placeholder: PLACEHOLDER }]);
  const scanner = new EchoScanner({ ...patterns, waysMax: 1 });
  for (const keepsLength of [false, true]) {
    const echo = Buffer.from(`before %s${ONE} ${"after ".repeat(1000)}`);
    const masked = maskWith(scanner, [echo.subarray(0, 12), echo.subarray(12)], keepsLength).toString("latin1");
    expect(masked).toMatch(/^before /);
    expect(masked).not.toContain("Zz0");
    expect(masked).toMatch(/after after $/);
    expect(masked.length === echo.length).toBe(keepsLength);
  }
});

it("passes the end of an event, and holds back at most the length of a value", () => {
  const mask = new EchoMask(scannerFor(ONE), { keepsLength: false });
  expect(mask.push(Buffer.from("data: yes\n\n")).toString()).toBe("data: yes\n\n");
  const pushed = Array.from({ length: 64 }, () => mask.push(Buffer.alloc(65_536, "\\")).length);
  expect(64 * 65_536 - pushed.reduce((sum, length) => sum + length, 0)).toBeLessThan(16_384);
});

it("masks a value in both alphabets of base64, also where they differ", () => {
  const value = "sk-???>>>~~~-0123";
  for (const encoding of ["base64", "base64url"] as const) {
    const text = Buffer.from(value).toString(encoding);
    expect(maskWith(scannerFor(value), [Buffer.from(`.${text}.`)]).toString()).toMatch(/^\.\*{10,}..?=*\.$|^\.\*+\.$/);
  }
});

it.each(["&VerticalLine;", "&verbar;", "&vert;"])("masks a value with a character that a page writes as %s", (name) => {
  const masked = maskWith(scannerFor("sk-|zebra|-0123"), [Buffer.from(`sk-${name}zebra${name}-0123`)]);
  expect(masked.toString()).toBe(PLACEHOLDER);
});

it("takes no 8 for an octal digit", () => {
  const scanner = scannerFor("sk-zebra-0128");
  expect(maskWith(scanner, [Buffer.from("sk-zebra-012\\070")]).toString()).toBe(PLACEHOLDER);
  expect(maskWith(scanner, [Buffer.from("sk-zebra-012\\068")]).toString()).toBe("sk-zebra-012\\068");
});
