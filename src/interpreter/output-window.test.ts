import * as fc from "fast-check";
import { expect, it } from "vitest";
import { excerpt, OutputWindow } from "./output-window.ts";

function windowOf(maxBytes: number, ...chunks: (string | Buffer)[]): OutputWindow {
  const window = new OutputWindow(maxBytes);
  for (const chunk of chunks) window.push(Buffer.from(chunk));
  return window;
}

it("keeps all of an output that fits", () => {
  const window = windowOf(10, "hello", "world");
  expect(window.text()).toBe("helloworld");
  expect(window.truncated).toBe(false);
});

it("keeps the beginning and the end of a longer output, and reports how much it cut", () => {
  const window = windowOf(10, "12345xx", "xxxxxabcde");
  expect(window.text()).toBe("12345\n[... 7 bytes cut ...]\nabcde");
  expect(window.truncated).toBe(true);
});

it("cuts between lines, unless most of the text would be removed", () => {
  expect(windowOf(20, "ab\ncdef\nghijkl", "mnopq\nrstuv\nwx").text()).toBe("ab\ncdef\n[... 12 bytes cut ...]\nrstuv\nwx");
  expect(windowOf(20, "a\nbcdefghijkl", "mnopqrstuvw\nx").text()).toBe("a\nbcdefghi\n[... 6 bytes cut ...]\npqrstuvw\nx");
});

it("shows both ends of a text, and what stands before the cut", () => {
  expect(excerpt("12345xxxxxxxabcde", { bytes: 10, lines: 9 })).toEqual({ text: "12345\n[... 7 bytes cut ...]\nabcde", head: "12345" });
  expect(excerpt("12345xxxxxxxabcde", { bytes: 17, lines: 9 })).toEqual({ text: "12345xxxxxxxabcde", head: "12345xxxxxxxabcde" });
  expect(excerpt("abc\ndef\nghi\njkl\n", { bytes: 8, lines: 9 })).toEqual({ text: "abc\n[... 8 bytes cut ...]\njkl\n", head: "abc\n" });
  expect(excerpt("1\n2\n3\n4\n5\n6\n7\n", { bytes: 99, lines: 4 })).toEqual({
    text: "1\n2\n[... 6 bytes cut ...]\n6\n7\n",
    head: "1\n2\n",
  });
  expect(excerpt("1\n2\n3\n4\n5", { bytes: 99, lines: 4 })).toEqual({ text: "1\n2\n[... 2 bytes cut ...]\n4\n5", head: "1\n2\n" });
  expect(excerpt("1\n2\n3\n4\n", { bytes: 99, lines: 4 }).head).toBe("1\n2\n3\n4\n");
});

it("joins a character that lies in two chunks", () => {
  const euro = Buffer.from("€");
  expect(windowOf(10, euro.subarray(0, 1), euro.subarray(1)).text()).toBe("€");
});

it("splits no character at the cut", () => {
  expect(windowOf(8, "€€€€€€€€€€").text()).toBe("€\n[... 24 bytes cut ...]\n€");
});

it("replaces bytes that are not UTF-8", () => {
  expect(windowOf(10, Buffer.from([0x61, 0xff, 0x62])).text()).toBe("a\ufffdb");
});

it("keeps the same two ends however the output is divided into chunks", () => {
  fc.assert(
    fc.property(fc.array(fc.uint8Array({ maxLength: 40 }), { maxLength: 30 }), fc.integer({ min: 2, max: 64 }), (chunks, maxBytes) => {
      const all = Buffer.concat(chunks);
      expect(windowOf(maxBytes, ...chunks.map((chunk) => Buffer.from(chunk))).text()).toBe(windowOf(maxBytes, all).text());
    }),
  );
});

it("keeps a bounded part of an endless output", () => {
  const window = new OutputWindow(1_000);
  const line = Buffer.from("0123456789".repeat(10));
  for (let count = 0; count < 20_000; count += 1) window.push(line);
  expect(Buffer.byteLength(window.text())).toBeLessThan(1_100);
  expect(window.text()).toContain("[... 1999000 bytes cut ...]");
});
