import { PassThrough } from "node:stream";
import { expect, it } from "vitest";
import { printServer } from "./print-server.ts";

function print(message: string): string {
  const out = new PassThrough();
  const error = { code: "SERVER_UNREACHABLE", message } as const;
  printServer(out, { name: "memo", state: "failed", tools: ["mcp_memo_a"], instances: 0, error, changes: [] });
  return String(out.read());
}

it("prints an error of several lines below the table, each line escaped alone", () => {
  const lines = print("The server ended\n  no database\u001b[2J\n> done").split("\n");
  expect(lines.slice(-5)).toEqual(["error", "  The server ended", "    no database\\u{1b}[2J", "  > done", ""]);
  expect(lines.filter((line) => line.startsWith("error"))).toEqual(["error"]);
});

it("prints an error of one line in the table", () => {
  expect(print("no such program")).toMatch(/^error +no such program\ntool +mcp_memo_a\n$/m);
});
