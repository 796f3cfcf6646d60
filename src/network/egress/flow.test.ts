import { expect, it } from "vitest";
import type { FlowSummary } from "./flow.ts";
import { Flow } from "./flow.ts";
import { Refusal } from "./refusal.ts";

/** A flow whose owner has so many bytes left. */
function openFlow(bytes = 100, host = "good.test") {
  const ended: (FlowSummary | undefined)[] = [];
  const owner = {
    overdraws: 0,
    takeBytes: (count: number) => (bytes -= count) > 0,
    ended: (_flow: Flow, summary: FlowSummary | undefined) => void ended.push(summary),
    overdrawn: () => void (owner.overdraws += 1),
  };
  return { flow: new Flow(owner, { via: "connect", place: { host, port: 443 } }), owner, ended };
}

const REFUSED = new Refusal("no-rule", "text", { missingRule: "good.test" });

it("tells at its end what it was and what it carried", () => {
  const { flow, ended } = openFlow();
  expect([flow.isOver, flow.isStillAllowed()]).toEqual([false, true]);
  flow.rule = "good.test";
  flow.address = "1.2.3.4";
  for (const bytes of [1, 2]) flow.sent(bytes);
  for (const bytes of [10, 20]) flow.received(bytes);
  flow.end();
  expect(ended).toEqual([
    {
      via: "connect",
      host: "good.test",
      port: 443,
      address: "1.2.3.4",
      verdict: "allowed",
      rule: "good.test",
      sentBytes: 3,
      receivedBytes: 30,
      durationMs: expect.any(Number) as number,
    },
  ]);
  expect(ended[0]?.durationMs).toBeGreaterThanOrEqual(0);
  expect(flow.isOver).toBe(true);
});

it("ends once", () => {
  const { flow, ended } = openFlow();
  const cuts: Refusal[] = [];
  flow.cut = (refusal) => void cuts.push(refusal);
  flow.stop(REFUSED);
  flow.stop(new Refusal("reset", "text"));
  flow.end();
  expect(cuts).toEqual([REFUSED]);
  expect(ended).toMatchObject([{ verdict: "refused", reason: "no-rule", missingRule: "good.test" }]);
  expect(Object.keys(ended[0] ?? {})).not.toContain("address");
  expect(Object.keys(ended[0] ?? {})).not.toContain("rule");
});

it("that is quiet tells only that it was refused", () => {
  const { flow, ended } = openFlow();
  flow.isQuiet = true;
  flow.end();
  expect(ended).toEqual([undefined]);
  const other = openFlow();
  other.flow.isQuiet = true;
  other.flow.end(REFUSED);
  expect(other.ended).toMatchObject([{ reason: "no-rule" }]);
});

it("says that its owner has no bytes left, until it is over", () => {
  const { flow, owner } = openFlow(10);
  flow.sent(5);
  flow.received(4);
  expect(owner.overdraws).toBe(0);
  flow.received(1);
  expect(owner.overdraws).toBe(1);
  flow.end();
  flow.sent(1);
  expect(owner.overdraws).toBe(1);
});

it("shows 255 characters of a host", () => {
  const { flow, ended } = openFlow(1, `${"a".repeat(255)}b`);
  flow.end();
  expect(ended[0]?.host).toBe("a".repeat(255));
});
