import { expect, it } from "vitest";
import { NAVIGATE } from "../../browser/actions/navigate.ts";
import { TYPE } from "../../browser/actions/type.ts";
import type { ToolContext } from "../../catalog/tool.ts";
import type { Sandbox } from "../../sandbox/sandbox.ts";
import { type BrowserSource, callBrowser } from "./browser-call.ts";

it("gives an action the time that its caller names, or that typing key by key takes", async () => {
  const given: (number | undefined)[] = [];
  const browsers: BrowserSource = {
    of: () => ({ call: (_action, _args, { timeoutMs }) => (given.push(timeoutMs), Promise.reject(new Error("noted"))) }),
  };
  const principal = { id: "someone" } as ToolContext["principal"];
  const context = { principal, signal: new AbortController().signal, sandbox: async () => ({}) as Sandbox } as ToolContext;
  const call = { context, sandbox: undefined, browsers };
  const text = "x".repeat(3_000);
  await expect(callBrowser(call, TYPE, { text })).rejects.toThrow("noted");
  await expect(callBrowser(call, TYPE, { text, slowly: true })).rejects.toThrow("noted");
  await expect(callBrowser(call, NAVIGATE, { url: "http://a.test/", timeout_ms: 2_000 })).rejects.toThrow("noted");
  expect(given).toEqual([undefined, 40_000, 4_000]);
});
