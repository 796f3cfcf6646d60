import { expect, it } from "vitest";
import * as z from "zod";
import { BelljarError } from "../errors.ts";
import { LOCAL, type Sandbox } from "../sandbox/sandbox.ts";
import { createCatalog } from "./catalog.ts";
import { zodSchema } from "./tool-schema.ts";
import { fixedTools } from "./tool-source.ts";
import { defineTool, type InnerCallOptions, type Tool, type ToolContext } from "./tool.ts";
import { textResult } from "./tool-result.ts";

const annotations = { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false };
const tool = (name: string, work: (context: ToolContext) => Promise<string>, more: Partial<Tool> = {}): Tool => ({
  ...defineTool({
    name,
    title: name,
    description: "",
    toolset: "test",
    annotations,
    input: z.object({}),
    run: async (context) => textResult(await work(context)),
  }),
  ...more,
});

const Form = zodSchema(z.strictObject({ yes: z.boolean() }));
const inner: readonly Tool[] = [
  tool("says_client", async ({ clientId }) => clientId ?? "no client"),
  tool("asks", async (context) => String((await context.ask({ message: "?", form: Form })).accepted)),
  tool("delegating", async () => "called", { delegates: true }),
  tool("finding", async () => "found", { role: "discovery" }),
  tool("managing", async () => "managed", { notForCode: true }),
  tool("scripting", async () => "ran", { callsTools: true }),
  tool("waits", ({ signal }) => new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)))),
];

async function callInside(name: string, options?: InnerCallOptions): Promise<string> {
  const outer = tool("outer", async (context) => {
    const result = await context.call(name, {}, options);
    return result.content.map((block) => (block.type === "text" ? block.text : "")).join("");
  });
  const unused = (): Promise<never> => Promise.reject(new BelljarError("INTERNAL", "unused"));
  const catalog = createCatalog({
    sources: [fixedTools([outer, ...inner])],
    sandboxes: { get: unused, getStarted: unused, info: unused, default: async () => ({ sandbox: {} as Sandbox, created: false }) },
    defaultSandbox: () => ({ name: "default", options: {} }),
  });
  const client = { id: "client", ask: async () => ({ action: "accept", content: { yes: true } }) as const };
  return String((await catalog.call(LOCAL, "outer", {}, { signal: new AbortController().signal, client })).value);
}

it.each([
  ["asks", "true"],
  ["says_client", "client"],
  ["delegating", "called"],
  ["finding", "found"],
])("has the outer call's client for a tool of Belljar's: %s", async (name, answer) => {
  expect(await callInside(name)).toBe(answer);
});

it.each([
  ["asks", /^PERSON_UNREACHABLE/],
  ["says_client", /^no client$/],
  ["delegating", /^FORBIDDEN: .*calls or finds others/],
  ["finding", /^FORBIDDEN: .*calls or finds others/],
])("is without person, session and detours for a user's code: %s", async (name, answer) => {
  expect(await callInside(name, { isForeign: true })).toMatch(answer);
});

it.each(["managing", "scripting"])("does not reach for a user's code what changes tools or runs scripts: %s", async (name) => {
  expect(await callInside(name)).not.toMatch(/^FORBIDDEN/);
  expect(await callInside(name, { isForeign: true, keepsSession: true })).toMatch(/^FORBIDDEN: The code of a tool does not call/);
});

it("keeps the session, and not the person, for code that the caller gave in this call", async () => {
  const options = { isForeign: true, keepsSession: true } as const;
  expect(await callInside("says_client", options)).toBe("client");
  expect(await callInside("asks", options)).toMatch(/^PERSON_UNREACHABLE/);
});

it("ends with a signal of its own", async () => {
  expect(await callInside("waits", { signal: AbortSignal.abort() })).toMatch(/^CANCELLED/);
});
