import { NodeStreamableHTTPServerTransport } from "@modelcontextprotocol/node";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { LOCAL } from "../../sandbox/sandbox.ts";
import { Sessions } from "./sessions.ts";
import { StoredLists } from "./stored-lists.ts";

const IDLE_MS = 1_000;

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
});
afterEach(() => {
  vi.useRealTimers();
});

function openSessions(...ids: string[]): Sessions {
  return openTelling(() => undefined, ids);
}

function openTelling(ended: (id: string) => void, ids: readonly string[]): Sessions {
  const sessions = new Sessions({ maxSessions: 2, idleMs: IDLE_MS, ended });
  for (const id of ids)
    sessions.add(id, {
      caller: { principal: LOCAL },
      transport: new NodeStreamableHTTPServerTransport({}),
      lists: new StoredLists(),
    });
  return sessions;
}

it("ends a session that nobody uses", () => {
  const sessions = openSessions("a");
  vi.advanceTimersByTime(IDLE_MS);
  expect(sessions.get("a", LOCAL)).toBeUndefined();
});

it("counts the idle time from the end of the last request", () => {
  const sessions = openSessions("a");
  const release = sessions.use("a");
  vi.advanceTimersByTime(10 * IDLE_MS);
  release();
  vi.advanceTimersByTime(IDLE_MS - 1);
  expect(sessions.get("a", LOCAL)).toBeDefined();
  vi.advanceTimersByTime(1);
  expect(sessions.get("a", LOCAL)).toBeUndefined();
});

it("closes the transport of a session that ends", () => {
  const sessions = openSessions("a");
  const transport = sessions.get("a", LOCAL)?.transport;
  const onclose = vi.fn();
  if (transport) transport.onclose = onclose;
  sessions.end("a");
  expect(onclose).toHaveBeenCalledOnce();
});

it("ends the longest idle session to make room", () => {
  const sessions = openSessions("a", "b");
  sessions.use("a")();
  expect(sessions.makeRoom()).toBe(true);
  expect(sessions.get("a", LOCAL)).toBeDefined();
  expect(sessions.get("b", LOCAL)).toBeUndefined();
});

it("has no room while all sessions are in use", () => {
  const sessions = openSessions("a", "b");
  sessions.use("a");
  sessions.use("b");
  expect(sessions.makeRoom()).toBe(false);
  expect(sessions.size).toBe(2);
});

it("does not show a session to another principal", () => {
  expect(openSessions("a").get("a", { id: "somebody-else", name: "somebody else" })).toBeUndefined();
});

it("tells once of each session that ends, whatever ends it", () => {
  const ended: string[] = [];
  const sessions = openTelling((id) => ended.push(id), ["a", "b"]);
  sessions.end("a");
  sessions.end("a");
  vi.advanceTimersByTime(IDLE_MS);
  expect(ended).toEqual(["a", "b"]);
});
