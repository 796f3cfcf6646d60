import { text } from "node:stream/consumers";
import { Readable } from "node:stream";
import { expect, it } from "vitest";
import { createPlaceholder, createPlaceholderWatch, findPlaceholder, isPlaceholder, replacePlaceholders } from "./placeholder.ts";

function watched(chunks: readonly string[], wanted: string): Promise<string> {
  const watch = createPlaceholderWatch(new Set([wanted]), (found) => new Error(`found ${found}`));
  const source = Readable.from(chunks.map((chunk) => Buffer.from(chunk)));
  source.pipe(watch);
  return text(watch);
}

it("is different each time, in characters that need no quoting", () => {
  const made = Array.from({ length: 100 }, createPlaceholder);
  expect(new Set(made).size).toBe(100);
  expect(made.filter((one) => !/^belljar_secret_[a-z2-7]{26}$/.test(one))).toEqual([]);
  expect(made.every(isPlaceholder)).toBe(true);
  expect(encodeURIComponent(made[0] ?? "")).toBe(made[0]);
});

it("is found among others and among similar texts", () => {
  const [wanted, other] = [createPlaceholder(), createPlaceholder()];
  const bytes = Buffer.from(`belljar_secret_ belljar_secret_belljar_secret_ ${other} \xff${wanted}abc`);
  expect(findPlaceholder(bytes, new Set([wanted]))).toBe(wanted);
  expect(findPlaceholder(bytes, new Set([createPlaceholder()]))).toBeUndefined();
});

it("is replaced wherever it stands in a text", () => {
  const placeholder = createPlaceholder();
  expect(replacePlaceholders(`a${placeholder}b${placeholder}`, (found) => (found === placeholder ? "X" : "?"))).toBe("aXbX");
  expect(replacePlaceholders("belljar_secret_", () => "X")).toBe("belljar_secret_");
});

it("passes everything without a placeholder", async () => {
  const chunks = ["a", "belljar_", "secret_", "x".repeat(100), "", "belljar_secret_abc"];
  expect(await watched(chunks, createPlaceholder())).toBe(chunks.join(""));
});

it("breaks a stream wherever it is split", async () => {
  const placeholder = createPlaceholder();
  const whole = `${"x".repeat(60)}${placeholder}${"y".repeat(60)}`;
  for (let at = 0; at < whole.length; at++)
    await expect(watched([whole.slice(0, at), whole.slice(at)], placeholder)).rejects.toThrow(`found ${placeholder}`);
  await expect(watched(whole.split(""), placeholder)).rejects.toThrow(`found ${placeholder}`);
});
