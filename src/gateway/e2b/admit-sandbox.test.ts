import type { IncomingMessage } from "node:http";
import { Duplex } from "node:stream";
import { expect, it } from "vitest";
import { TurnsByKey } from "../../async/turns-by-key.ts";
import type { Sandbox } from "../../sandbox/sandbox.ts";
import { createSandboxAdmission } from "./admit-sandbox.ts";
import { toLabels } from "./control/made-with.ts";

const askFor = (headers: Record<string, string> = {}) => ({ headers, socket: new Duplex() }) as unknown as IncomingMessage;

/** The one sandbox, which a test pauses. */
function openAdmission(autoResume: boolean) {
  const state = { isPaused: false, hasKey: true };
  const sandbox = {
    id: "a",
    owner: "token:x",
    ended: Promise.resolve(),
    isPaused: () => state.isPaused,
    usage: async () => ({ phase: state.isPaused ? "paused" : "running", pauseReason: "asked" }),
    info: async () => ({ metadata: toLabels({}, { template: "base", autoResume }) }),
    resume: async () => void (state.isPaused = false),
    extend: async () => undefined,
  } as unknown as Sandbox;
  const parts = {
    sandboxes: { getLinked: async () => sandbox },
    keys: { of: async () => (state.hasKey ? [{}] : []) },
    turns: new TurnsByKey(),
  } as unknown as Parameters<typeof createSandboxAdmission>[0];
  return { state, turns: parts.turns, admission: createSandboxAdmission(parts, async () => "a") };
}

it("wakes a paused sandbox for a new request, if its maker said so, and not for one that is looked at again", async () => {
  const { state, admission } = openAdmission(true);
  const served = askFor();
  await admission.identify(served);
  state.isPaused = true;
  expect(await admission.identify(served)).toMatchObject({ id: "token:x" });
  expect(state.isPaused).toBe(true);
  await admission.identify(askFor());
  expect(state.isPaused).toBe(false);
});

it("lets the streams of a sandbox be that was paused, until its owner has no key", async () => {
  const { state, admission } = openAdmission(false);
  const served = askFor();
  await admission.identify(served);
  state.isPaused = true;
  await expect(admission.identify(askFor())).rejects.toMatchObject({ code: "SANDBOX_PAUSED" });
  expect(await admission.identify(served)).toBeDefined();
  state.hasKey = false;
  expect(await admission.identify(served)).toBeUndefined();
});

it("refuses headers that name a sandbox in part, before anybody is looked for", async () => {
  const { admission } = openAdmission(false);
  await expect(admission.identify(askFor({ "e2b-sandbox-port": "49983" }))).rejects.toMatchObject({ code: "ARGUMENTS_INVALID" });
  expect(await admission.identify(askFor({ "e2b-sandbox-id": "a", "e2b-sandbox-port": "49983" }))).toBeDefined();
});

it("waits for its turn no longer than its client is there, and listens to the connection no longer than it waits", async () => {
  const { state, turns, admission } = openAdmission(true);
  state.isPaused = true;
  let release = (): void => undefined;
  const first = turns.run("token:x a", () => new Promise<void>((resolve) => (release = resolve)));
  const [gone, stays] = [askFor(), askFor()];
  const [left, served] = [admission.identify(gone), admission.identify(stays)];
  const failed = expect(left).rejects.toThrow(/abort/);
  gone.socket.destroy();
  await failed;
  release();
  await first;
  expect(await served).toMatchObject({ id: "token:x" });
  expect([state.isPaused, stays.socket.listenerCount("close")]).toEqual([false, 0]);
});
