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

it("shows no argument that looks like a key", () => {
  const keys = ["--key", "k-0123456789", "--auth=a-0123456789", "PAT=p-0123456789", "ghp_0123456789", "--key-id", "short"];
  expect(describeServer(server("a.js", ...keys))).toBe("node a.js --key [key] --auth=[key] PAT=[key] [key] --key-id short");
});
