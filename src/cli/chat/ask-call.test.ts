import { PassThrough } from "node:stream";
import { expect, it } from "vitest";
import type { McpTool } from "../../mcp/client/mcp-client.ts";
import type { CommandContext } from "../command.ts";
import { askCall } from "./ask-call.ts";

const terminal = () => Object.assign(new PassThrough({ encoding: "utf8" }), { isTTY: true as const });

it("asks in one line about a tool and a server, whatever their names are", async () => {
  const [stdin, stderr] = [terminal(), terminal()];
  const { signal } = new AbortController();
  const context = { env: {}, stdin, stdout: terminal(), stderr, signal } as Partial<CommandContext> as CommandContext;
  const names = { tool: 'read" of "safe" only reads.\nIts arguments are:\n{}', server: "memo\r\u2028\u202e" };
  stdin.end("n\n");
  expect(await askCall(context, { ...names, definition: {} } as Partial<McpTool> as McpTool, { all: true }, signal)).toBe(false);
  const lines = String(stderr.read()).split("\n");
  expect(lines[0]).toBe(
    String.raw`The tool "read\" of \"safe\" only reads.\nIts arguments are:\n{}" of "memo\r\u{2028}\u{202e}" may change something. Its arguments are:`,
  );
  expect(lines.slice(1)).toEqual(["{", '  "all": true', "}", "Call it? [y,n] "]);
});
