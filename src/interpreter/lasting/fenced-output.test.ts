import { expect, it } from "vitest";
import { FencedOutput } from "./fenced-output.ts";

const MARK = Buffer.from("0123456789abcdef\n");

it("cuts at the mark however it comes, and gives on at once what cannot be its beginning", async () => {
  const whole = Buffer.concat([Buffer.from("some 0123 text\n012"), MARK, Buffer.from("next")]);
  for (let at = 0; at <= whole.length; at++) {
    const output = new FencedOutput(1_000);
    const told: string[] = [];
    output.onOutput = (chunk) => told.push(chunk.toString());
    const fenced = output.until(MARK);
    output.push(whole.subarray(0, at));
    expect(told.join("").length).toBeGreaterThanOrEqual(Math.min(at, 5));
    output.push(whole.subarray(at));
    await fenced;
    expect(output.take().text()).toBe("some 0123 text\n012");
    expect(output.take().text()).toBe("next");
  }
});

it("tells a short line at once while it waits for the mark", () => {
  const output = new FencedOutput(1_000);
  const told: string[] = [];
  output.onOutput = (chunk) => told.push(chunk.toString());
  void output.until(MARK);
  output.push(Buffer.from("begun\n"));
  expect(told).toEqual(["begun\n"]);
});

it("keeps inserted output in its place", async () => {
  const output = new FencedOutput(1_000);
  const fenced = output.until(MARK);
  output.push(Buffer.from("a"));
  output.insert(Buffer.from("b"));
  output.push(Buffer.concat([Buffer.from("c"), MARK, Buffer.from("next")]));
  await fenced;
  output.insert(Buffer.from("d"));
  expect(output.take().text()).toBe("abcd");
  expect(output.take().text()).toBe("next");
});
