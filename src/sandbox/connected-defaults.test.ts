import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { ConnectedDefaults } from "./connected-defaults.ts";
import { LOCAL } from "./sandbox.ts";

const HOUR_MS = 3_600_000;

beforeEach(() => vi.useFakeTimers());
afterEach(() => vi.useRealTimers());

function open(keep: (name: string) => Promise<number | undefined> = async () => HOUR_MS) {
  const kept: string[] = [];
  const problems: string[] = [];
  const connected = new ConnectedDefaults({
    keep: (_principal, name) => (kept.push(name), keep(name)),
    lifetimeMs: HOUR_MS,
    report: (problem) => problems.push(problem),
  });
  return { connected, kept, problems };
}

it("keeps a default sandbox alive three times a lifetime while a client is connected", async () => {
  const { connected, kept } = open(async (name) => (name === "short" ? HOUR_MS / 10 : undefined));
  connected.hold(LOCAL, "long");
  connected.hold(LOCAL, "short");
  await vi.advanceTimersByTimeAsync(HOUR_MS - 1);
  expect(kept.filter((name) => name === "long")).toHaveLength(3);
  expect(kept.filter((name) => name === "short")).toHaveLength(30);
  await connected[Symbol.asyncDispose]();
});

it("keeps it once more when the last of several clients has gone, and then no more", async () => {
  const { connected, kept } = open();
  const [one, two] = [connected.hold(LOCAL, "a"), connected.hold(LOCAL, "a")];
  await vi.advanceTimersByTimeAsync(HOUR_MS - 1);
  one[Symbol.dispose]();
  one[Symbol.dispose]();
  await vi.advanceTimersByTimeAsync(1_001);
  expect(kept).toHaveLength(4);
  two[Symbol.dispose]();
  await vi.advanceTimersByTimeAsync(0);
  expect(kept).toHaveLength(5);
  await vi.advanceTimersByTimeAsync(5 * HOUR_MS);
  expect(kept).toHaveLength(5);
});

it("does nothing for a request that ends at once", async () => {
  const { connected, kept } = open();
  for (let request = 0; request < 100; request += 1) {
    const held = connected.hold(LOCAL, "a");
    await vi.advanceTimersByTimeAsync(500);
    held[Symbol.dispose]();
  }
  await connected[Symbol.asyncDispose]();
  expect(kept).toEqual([]);
});

it("waits for the last time when it is disposed", async () => {
  let isDone = false;
  const { connected } = open(async () => {
    isDone = false;
    await Promise.resolve();
    isDone = true;
    return HOUR_MS;
  });
  const held = connected.hold(LOCAL, "a");
  await vi.advanceTimersByTimeAsync(1_000);
  held[Symbol.dispose]();
  await connected[Symbol.asyncDispose]();
  expect(isDone).toBe(true);
});

it("reports a failure and tries again", async () => {
  const { connected, kept, problems } = open(() => Promise.reject(new Error("no keeper")));
  connected.hold(LOCAL, "a");
  await vi.advanceTimersByTimeAsync(HOUR_MS - 1);
  expect(kept).toHaveLength(3);
  expect(problems[0]).toContain("no keeper");
  await connected[Symbol.asyncDispose]();
});

it("keeps nothing alive once it is disposed, though clients are connected", async () => {
  const { connected, kept } = open();
  connected.hold(LOCAL, "a");
  connected.hold({ id: "token:ci", name: "ci" }, "a");
  await vi.advanceTimersByTimeAsync(1_000);
  expect(kept).toEqual(["a", "a"]);
  await connected[Symbol.asyncDispose]();
  await vi.advanceTimersByTimeAsync(5 * HOUR_MS);
  expect(kept).toEqual(["a", "a"]);
});
