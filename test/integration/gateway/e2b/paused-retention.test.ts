import { expect, it } from "vitest";
import { TurnsByKey } from "../../../../src/async/turns-by-key.ts";
import { createTokenStore } from "../../../../src/gateway/auth/token-store.ts";
import { toLabels } from "../../../../src/gateway/e2b/control/made-with.ts";
import { reviewPaused } from "../../../../src/gateway/e2b/paused-retention.ts";
import type { CreateOptions, Principal, Sandbox } from "../../../../src/sandbox/sandbox.ts";
import { openEvents } from "../../../support/event-reader.ts";
import { useFakeHome } from "../../../support/fake-home.ts";

const home = useFakeHome();
const signal = new AbortController().signal;
const DAY_MS = 86_400_000;
const AGENT: Principal = { id: "token:agent", name: "agent" };
const LABELS = toLabels({}, { template: "base" });

it("keeps what E2B's clients have paused for the retention, and touches nothing else", async () => {
  const sandboxes = home.openHome();
  const tokens = createTokenStore(home.home);
  await tokens.create("agent", ["surface:e2b"]);
  const make = (options: CreateOptions, owner = AGENT): Promise<Sandbox> => sandboxes.create(owner, options, signal);
  const pausing = await make({ metadata: LABELS, onDeadline: "pause" });
  const [stopped, running, others, foreign] = [
    await make({ metadata: LABELS }),
    await make({ metadata: LABELS, onDeadline: "pause" }),
    await make({}),
    await make({ metadata: LABELS }, { id: "token:other", name: "other" }),
  ];
  for (const one of [stopped, others, foreign]) await one.stop();
  await using events = await openEvents(sandboxes, AGENT);
  await pausing.extend(1);
  while ((await pausing.info()).state !== "paused") await events.until(({ type }) => type === "changed");

  const turns = new TurnsByKey();
  const options = { sandboxes, tokens, turns, retentionMs: 30 * DAY_MS, log: { error: () => expect.fail("nothing fails") } };
  const stateOf = async ({ id }: Sandbox, owner = AGENT) => (await sandboxes.info(owner, id)).state;
  const states = async () => [
    await stateOf(pausing),
    await stateOf(running),
    await stateOf(stopped),
    await stateOf(others),
    await stateOf(foreign, { id: "token:other", name: "other" }),
  ];
  const leftOf = async (one: Sandbox): Promise<number> => ((await one.info()).deadline?.getTime() ?? 0) - Date.now();
  expect(await leftOf(pausing)).toBeLessThan(8 * DAY_MS);
  await reviewPaused(options);
  expect(await states()).toEqual(["paused", "running", "stopped", "stopped", "stopped"]);
  expect(await leftOf(pausing)).toBeGreaterThan(29 * DAY_MS);
  expect(await leftOf(running)).toBeLessThan(DAY_MS);

  // Its time is counted from the pause, however often it is looked at.
  await pausing.extend(5 * DAY_MS);
  await reviewPaused(options, Date.now() + 31 * DAY_MS);
  expect(await states()).toEqual(["paused", "running", "ended", "stopped", "stopped"]);
  expect(await leftOf(pausing)).toBeLessThan(6 * DAY_MS);
});

it("leaves the deadline of one that somebody resumes meanwhile", async () => {
  const sandboxes = home.openHome();
  const tokens = createTokenStore(home.home);
  await tokens.create("agent", ["surface:e2b"]);
  const paused = await sandboxes.create(AGENT, { metadata: LABELS, onDeadline: "pause" }, signal);
  await using events = await openEvents(sandboxes, AGENT);
  await paused.extend(1);
  while ((await paused.info()).state !== "paused") await events.until(({ type }) => type === "changed");
  /** It is resumed as soon as it was listed. */
  const list: typeof sandboxes.list = async (...asked) => {
    const page = await sandboxes.list(...asked);
    await paused.resume();
    await paused.extend(600_000, "pause");
    return page;
  };
  const get: typeof sandboxes.get = (...asked) => sandboxes.get(...asked);
  const log = { error: () => expect.fail("nothing fails") };
  await reviewPaused({ sandboxes: { list, get }, tokens, turns: new TurnsByKey(), retentionMs: 30 * DAY_MS, log });
  const { state, deadline, onDeadline } = await paused.info();
  expect([state, onDeadline]).toEqual(["running", "pause"]);
  expect(deadline?.getTime()).toBeLessThan(Date.now() + 600_001);
});
