import { expect, it } from "vitest";
import { ReceiveWindow, SendWindow } from "./credit.ts";

const REFUSED = expect.objectContaining({ code: "GUEST_PROTOCOL" });

it("a sender never exceeds its window", () => {
  const window = new SendWindow(100);
  expect([window.take(60), window.take(60), window.take(1)]).toEqual([60, 40, 0]);
  window.grant(30);
  expect(window.take(100)).toBe(30);
});

it("credit for bytes that were never sent is refused", () => {
  const window = new SendWindow(100);
  window.take(10);
  expect(() => window.grant(11)).toThrow(REFUSED);
});

it("data beyond the credit is refused", () => {
  const window = new ReceiveWindow(100);
  window.receive(100);
  expect(() => window.receive(1)).toThrow(REFUSED);
});

it("credit goes back in halves of the window, until all of it can be used again", () => {
  const window = new ReceiveWindow(100);
  window.receive(100);
  expect([window.take(49), window.take(1), window.take(50)]).toEqual([0, 50, 50]);
  window.receive(100);
  expect(() => window.receive(1)).toThrow(REFUSED);
});
