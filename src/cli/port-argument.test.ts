import { expect, it } from "vitest";
import { parseForward, parsePort } from "./port-argument.ts";

it("parses a port", () => {
  expect([parsePort("1", ""), parsePort("65535", "")]).toEqual([1, 65_535]);
  for (const bad of ["", "0", "65536", "-1", "1.5", "0x10", "http", " 1", "8000:80"]) {
    expect(() => parsePort(bad, "")).toThrow(expect.objectContaining({ code: "USAGE" }));
  }
});

it("parses a port and the local port that leads to it", () => {
  expect(parseForward("8000", "")).toEqual({ port: 8000, local: 8000 });
  expect(parseForward("8000:8080", "")).toEqual({ port: 8000, local: 8080 });
  expect(parseForward("80:0", "")).toEqual({ port: 80, local: 0 });
  for (const bad of ["", ":", "8000:", ":8000", "0:1", "1:2:3", "1:65536", "1:x"]) {
    expect(() => parseForward(bad, "")).toThrow(expect.objectContaining({ code: "USAGE" }));
  }
});
