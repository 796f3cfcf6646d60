import { resolve } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type HubLab, openHubLab } from "../../support/hub-lab.ts";
import { textOf } from "../../support/tools-lab.ts";

const mounts = [{ host: resolve(import.meta.dirname, "../../fixtures"), path: "/workspace", mode: "ro" }];
const careless = (more: object = {}): object => ({ command: "node", args: ["/workspace/mcp-careless.mjs"], mounts, ...more });

let lab: HubLab;
beforeAll(async () => {
  lab = await openHubLab({ bad: careless(), late: careless({ tool_timeout_sec: 1 }), good: careless() });
  await lab.until(() => Object.values(lab.states()).every((state) => state === "ready"));
}, 60_000);
afterAll(() => lab?.[Symbol.asyncDispose](), 60_000);

const call = async (tool: string, args: object = {}): Promise<string> => textOf(await lab.call(tool, args, { clientId: "c" }));
const echo = (server: string): Promise<string> => call(`mcp_${server}_echo`, { text: "on" });

it.each([
  ["answers twice", "twice", "first"],
  ["prints logs and halves of messages to stdout", "noise", "worked"],
])("understands a server that %s, and calls it again", async (_what, tool, said) => {
  expect(await call(`mcp_bad_${tool}`)).toBe(said);
  expect(await echo("bad")).toBe("on");
});

it.each([
  ["answers with a wrong id", "wrong"],
  ["answers with a number", "broken"],
  ["never answers", "never"],
])("gives a server that %s its time, and calls it again", async (_what, tool) => {
  expect(await call(`mcp_late_${tool}`)).toContain('The server "late" did not answer within 1000 ms');
  expect(await echo("late")).toBe("on");
});

it("gives no caller what a server answers late to another call", async () => {
  expect(await call("mcp_late_hold")).toContain("did not answer");
  expect(await call("mcp_late_late")).toBe("own");
});

it.each([
  ["sends 50 MB at once", "huge", 'The server "bad" sent a message that is too large'],
  ["asks without end", "flood", 'The server "bad" does not read what it is sent'],
  ["dies", "die", "no memory"],
])("ends an instance that %s in a call, says so, and starts it anew", async (_what, tool, said) => {
  const [answer, other] = await Promise.all([call(`mcp_bad_${tool}`), echo("good")]);
  expect([answer, other]).toEqual([expect.stringContaining(said), "on"]);
  expect(await echo("bad")).toBe("on");
});

it("starts a server that dies in each call as often as it is called", async () => {
  for (let turn = 0; turn < 5; turn += 1) expect(await call("mcp_bad_die")).toContain("no memory");
  expect(await echo("bad")).toBe("on");
});
