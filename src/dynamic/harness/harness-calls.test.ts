import { PassThrough } from "node:stream";
import { expect, it } from "vitest";
import { textResult } from "../../catalog/tool-result.ts";
import type { ToolResult } from "../../catalog/tool.ts";
import { BelljarError } from "../../errors.ts";
import { type CallTool, HarnessCalls } from "./harness-calls.ts";

const ask = (tool: string, id?: number) => ({ token: "t", type: "call", tool, arguments: {}, ...(id !== undefined && { id }) }) as const;
const nextLine = async (channel: PassThrough): Promise<unknown> => {
  for await (const chunk of channel.iterator({ destroyOnReturn: false })) return JSON.parse(String(chunk));
  return undefined;
};

function unexpected(cause: unknown): void {
  throw cause;
}

it("calls one after the other, the next once the code has taken the answer", async () => {
  const begun: string[] = [];
  const callTool: CallTool = async (name) => (begun.push(name), textResult(name));
  const channel = new PassThrough({ highWaterMark: 1 });
  await using calls = new HarnessCalls({ callTool, channel, onFault: unexpected });
  for (const tool of ["one", "two"]) calls.take(ask(tool));
  await new Promise((resolve) => channel.once("readable", resolve));
  expect(begun).toEqual(["one"]);
  expect(await nextLine(channel)).toEqual({ value: "one", content: [{ type: "text", text: "one" }], isError: false });
  expect(await nextLine(channel)).toMatchObject({ value: "two" });
});

it("makes as many at once as it may, and answers each by its number", async () => {
  const ends = new Map<string, () => void>();
  let count = 0;
  let told = (): void => undefined;
  const begun = new Promise<void>((resolve) => (told = resolve));
  const callTool: CallTool = (name) =>
    new Promise((resolve) => {
      ends.set(name, () => resolve(textResult(name)));
      if ((count += 1) === 2) told();
    });
  const channel = new PassThrough();
  const bounds = { most: 10, concurrent: 2 };
  await using calls = new HarnessCalls({ callTool, channel, onFault: unexpected, bounds });
  for (const [id, tool] of ["one", "two", "three"].entries()) calls.take(ask(tool, id));
  await begun;
  expect([...ends.keys()]).toEqual(["one", "two"]);
  ends.get("two")?.();
  expect(await nextLine(channel)).toMatchObject({ id: 1, value: "two" });
  expect([...ends.keys()]).toEqual(["one", "two", "three"]);
  for (const end of ends.values()) end();
});

it("answers a failure, a result that is too long, and a call without anybody to make it", async () => {
  const results: Readonly<Record<string, () => ToolResult>> = {
    failing: () => {
      throw new BelljarError("TOOL_NOT_FOUND", "there is none");
    },
    large: () => textResult("x".repeat(9 * 1_048_576)),
  };
  const answerOf = async (tool: string, callTool?: CallTool): Promise<unknown> => {
    const channel = new PassThrough();
    await using calls = new HarnessCalls({ callTool, channel, onFault: unexpected });
    calls.take(ask(tool));
    return await nextLine(channel);
  };
  const callTool: CallTool = async (name) => results[name]?.() ?? textResult("unknown");
  const failed = (code: string) => ({ isError: true, value: { code } });
  expect(await answerOf("failing", callTool)).toMatchObject(failed("TOOL_NOT_FOUND"));
  expect(await answerOf("large", callTool)).toMatchObject(failed("RESULT_TOO_LARGE"));
  expect(await answerOf("any")).toMatchObject(failed("NOT_SUPPORTED"));
});

it("goes on with a code that was told that it calls too often, and not with one that goes on asking", async () => {
  const channel = new PassThrough();
  channel.resume();
  await using calls = new HarnessCalls({ callTool: async () => textResult(""), channel, onFault: unexpected });
  const taken = Array.from({ length: 102 }, () => calls.take(ask("any")));
  expect(taken.indexOf(false)).toBe(101);
});

it("ends the call that runs, and begins no other", async () => {
  const begun: string[] = [];
  let start = (): void => undefined;
  const started = new Promise<void>((resolve) => (start = resolve));
  const callTool: CallTool = async (name, _args, signal) => {
    begun.push(name);
    start();
    return new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
  };
  {
    await using calls = new HarnessCalls({ callTool, channel: new PassThrough(), onFault: unexpected });
    for (const tool of ["one", "two"]) calls.take(ask(tool));
    await started;
  }
  expect(begun).toEqual(["one"]);
});

it("says nothing to whoever reads the channel after the code", async () => {
  const channel = new PassThrough();
  let start = (): void => undefined;
  const started = new Promise<void>((resolve) => (start = resolve));
  const callTool: CallTool = (_name, _args, signal) => {
    start();
    return new Promise((_resolve, reject) =>
      signal.addEventListener("abort", () => reject(new BelljarError("CANCELLED", "it was given up"))),
    );
  };
  {
    await using calls = new HarnessCalls({ callTool, channel, onFault: unexpected });
    calls.take(ask("slow"));
    await started;
  }
  expect(channel.readableLength).toBe(0);
});

it("tells a fault of a called tool to whoever waits for the code", async () => {
  const fault = new TypeError("a fault");
  const told = new Promise<unknown>((resolve) => {
    const calls = new HarnessCalls({ callTool: () => Promise.reject(fault), channel: new PassThrough(), onFault: resolve });
    calls.take(ask("broken"));
  });
  expect(await told).toBe(fault);
});
