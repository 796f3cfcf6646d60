import { expect, it } from "vitest";
import { describeServer } from "./describe-server.ts";
import type { HubServer } from "./hub-server.ts";

const server = (...args: readonly string[]): HubServer =>
  ({ name: "any", target: { kind: "stdio", name: "any", command: "node", args }, settings: {} }) as unknown as HubServer;

it("shows a program with its arguments, and of very many characters the first whole words, with their number", () => {
  expect(describeServer(server("a.js", "--port", "1"))).toBe("node a.js --port 1");
  const long = describeServer(server(...Array.from({ length: 1_000 }, () => "x".repeat(255))));
  expect(long).toBe(`node ${`${"x".repeat(255)} `.repeat(15)}... (256004 characters)`);
});

it("shows no beginning of a word that it does not show whole", () => {
  expect(describeServer(server("token".repeat(50_000)))).toBe("node ... (250005 characters)");
});
