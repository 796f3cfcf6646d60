import { EventEmitter } from "node:events";
import type { IncomingMessage } from "node:http";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { BelljarError } from "../../errors.ts";
import { LOCAL } from "../../sandbox/sandbox.ts";
import { createTokenWatch } from "./token-watch.ts";

const LOOK_MS = 5_000;

beforeEach(() => vi.useFakeTimers());
afterEach(() => vi.useRealTimers());

/** Serves one request, and says whether its connection is cut. `states` is what becomes of each token. */
function openWatch() {
  const states = new Map<string, Error>();
  const asked: string[] = [];
  const watch = createTokenWatch({
    keyOf: ({ headers }) => headers.authorization,
    authenticate: async ({ headers: { authorization = "" } }) => {
      asked.push(authorization);
      const error = states.get(authorization);
      if (error) throw error;
      return LOCAL;
    },
  });
  const serve = (token: string) => {
    const exchange = new EventEmitter();
    const socket = { destroyed: false, destroy: () => void (socket.destroyed = true) };
    watch.add({ headers: { authorization: token }, socket } as unknown as IncomingMessage, exchange);
    return { socket, end: () => void exchange.emit("close") };
  };
  return { states, asked, serve };
}

const looks = (count: number): Promise<unknown> => vi.advanceTimersByTimeAsync(count * LOOK_MS);

it.each(["UNAUTHORIZED", "FORBIDDEN"] as const)("cuts what a token has opened at the first look that says %s", async (code) => {
  const { states, serve } = openWatch();
  const [first, second, other] = [serve("a"), serve("a"), serve("b")];
  await looks(2);
  expect([first, second, other].map(({ socket }) => socket.destroyed)).toEqual([false, false, false]);
  states.set("a", new BelljarError(code, "over"));
  await looks(1);
  expect([first, second, other].map(({ socket }) => socket.destroyed)).toEqual([true, true, false]);
});

it.each([new BelljarError("SERVER_UNREACHABLE", "no issuer"), new Error("EMFILE")])(
  "keeps what a token has opened for a minute while it cannot be checked: %s",
  async (error) => {
    const { states, serve } = openWatch();
    const { socket } = serve("a");
    states.set("a", error);
    await looks(12);
    states.clear();
    await looks(1);
    states.set("a", error);
    await looks(12);
    expect(socket.destroyed).toBe(false);
    await looks(1);
    expect(socket.destroyed).toBe(true);
  },
);

it("asks once for each token, and for none when nothing is served", async () => {
  const { asked, serve } = openWatch();
  const served = [serve("a"), serve("a"), serve("b")];
  await looks(1);
  expect(asked).toEqual(["a", "b"]);
  for (const { end } of served) end();
  expect(vi.getTimerCount()).toBe(0);
  const { end } = serve("c");
  await looks(1);
  expect(asked).toEqual(["a", "b", "c"]);
  end();
  expect(vi.getTimerCount()).toBe(0);
});

it("does not wait for an exchange that has closed before", () => {
  const watch = createTokenWatch({ keyOf: () => "a", authenticate: async () => LOCAL });
  watch.add({ headers: {}, socket: { destroyed: true } } as unknown as IncomingMessage, new EventEmitter());
  expect(vi.getTimerCount()).toBe(0);
});
