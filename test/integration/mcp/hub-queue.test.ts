import { afterAll, beforeAll, expect, it } from "vitest";
import { type HubLab, hubServer, openHubLab } from "../../support/hub-lab.ts";
import { textOf } from "../../support/tools-lab.ts";

let lab: HubLab;
beforeAll(async () => {
  lab = await openHubLab({ slow: hubServer(), other: hubServer(), short: hubServer({ timeout: 3_000 }) }, { concurrency: 1, queue: 1 });
  await lab.until(() => Object.values(lab.states()).every((state) => state === "ready"));
}, 60_000);
afterAll(() => lab?.[Symbol.asyncDispose](), 60_000);

/** A call that has its place until it is ended. */
async function hang(tool: string) {
  const controller = new AbortController();
  let begun = (): void => undefined;
  const begins = new Promise<void>((resolve) => (begun = resolve));
  const call = lab.call(tool, {}, { clientId: "hanging", signal: controller.signal, progress: () => begun() });
  await begins;
  const end = async (): Promise<void> => {
    controller.abort();
    await call;
  };
  return { end, [Symbol.asyncDispose]: end };
}

it("refuses a call to a server whose queue is full, and holds up no other server", async () => {
  await using hanging = await hang("mcp_slow_hang");
  const waits = lab.call("mcp_slow_count", {}, { clientId: "waiting" });
  const refused = await lab.call("mcp_slow_count", {}, { clientId: "refused" });
  expect(refused).toMatchObject({ isError: true, value: { code: "SERVER_BUSY", retryable: true } });
  expect(textOf(await lab.call("mcp_other_count"))).toBe("1");
  await hanging.end();
  expect(textOf(await waits)).toBe("1");
});

it("ends a call that waits when its caller gives up", async () => {
  await using hanging = await hang("mcp_slow_hang");
  const controller = new AbortController();
  const waits = lab.call("mcp_slow_count", {}, { clientId: "leaving", signal: controller.signal });
  controller.abort();
  expect(await waits).toMatchObject({ isError: true, value: { code: "CANCELLED" } });
  const next = lab.call("mcp_slow_count", {}, { clientId: "leaving" });
  await hanging.end();
  expect(textOf(await next)).toBe("1");
});

it("ends a call that waits when its time is up", async () => {
  // The first one has its place for as long as a person is asked.
  let asked = (): void => undefined;
  const asks = new Promise<void>((resolve) => (asked = resolve));
  let answer = (): void => undefined;
  const answers = new Promise<void>((resolve) => (answer = resolve));
  const first = lab.call("mcp_short_ask", {}, { clientId: "asking", ask: async () => (asked(), await answers, { action: "decline" }) });
  await asks;
  const waits = await lab.call("mcp_short_count", {}, { clientId: "late" });
  expect(waits).toMatchObject({ isError: true, value: { code: "EXEC_TIMEOUT" } });
  answer();
  expect(textOf(await first)).toBe('{"action":"decline"}');
});
