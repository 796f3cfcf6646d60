import { expect, it } from "vitest";
import { memoryHoldsLayers } from "./storage.ts";

it.each([
  ["6.18.44-fc", true],
  ["6.6.0-rc1", true],
  ["7.0.1", true],
  ["6.1.0-26-amd64", false],
  ["5.15.0-101-generic", false],
])("knows whether memory can hold the layers of Linux %s", (kernel, holds) => {
  expect(memoryHoldsLayers(kernel)).toBe(holds);
});
