import { once } from "node:events";
import { text } from "node:stream/consumers";
import { afterEach, expect, it, vi } from "vitest";
import { Frames } from "./frames.ts";

afterEach(() => {
  vi.useRealTimers();
});

it("writes one line of JSON for each frame, and begins with the first", async () => {
  const frames = new Frames();
  expect(frames.hasBegun).toBe(false);
  expect(frames.write({ type: "stdout", text: "a\nb" })).toBeUndefined();
  await frames.begun;
  frames.end();
  expect(await text(frames.body)).toBe('{"type":"stdout","text":"a\\nb"}\n');
});

it("has its writer wait for a client that reads slowly, and no longer than the client is there", async () => {
  const frames = new Frames();
  const large = { type: "stdout", text: "x".repeat(100_000) };
  const waits = [frames.write(large), frames.write(large)];
  expect(waits.map((wait) => wait instanceof Promise)).toEqual([true, true]);
  frames.body.resume();
  await Promise.all(waits.map((wait) => Promise.resolve(wait)));
  frames.body.pause();
  const last = frames.write(large);
  frames.body.destroy();
  await last;
  expect(frames.write(large)).toBeUndefined();
});

it("says again and again that it is there, but piles nothing up", async () => {
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
  const frames = new Frames(5_000);
  const said = once(frames.body, "data") as Promise<[Buffer]>;
  vi.advanceTimersByTime(5_000);
  expect(String((await said)[0])).toBe('{"type":"keepalive"}\n');
  frames.body.pause();
  void frames.write({ type: "stdout", text: "x".repeat(100_000) });
  const held = frames.body.readableLength;
  vi.advanceTimersByTime(50_000);
  expect(frames.body.readableLength).toBe(held);
  frames.body.destroy();
});

it("cuts the answer, so that nobody takes it for whole", async () => {
  const frames = new Frames();
  void frames.write({ type: "stdout", text: "half" });
  const read = text(frames.body);
  frames.cut(new Error("gone"));
  await expect(read).rejects.toThrow("gone");
});
