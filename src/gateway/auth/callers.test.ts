import { EventEmitter, once } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer } from "node:http";
import { connect } from "node:net";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { openOrigin } from "../../../test/support/egress-lab.ts";
import { LOCAL } from "../../sandbox/sandbox.ts";
import type { Principal } from "../../sandbox/sandbox.ts";
import type { Callers } from "./callers.ts";
import { createCallers } from "./callers.ts";

const HOLDER: Principal = { id: "token:ci", name: "ci", grants: {} };

beforeEach(() => vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] }));
afterEach(() => vi.useRealTimers());

/** Knows one token for as long as `isKnown` says. */
function openCallers(): { readonly callers: Callers; readonly tokens: { isKnown: boolean } } {
  const tokens = { isKnown: true };
  const find = async (token: string) => (tokens.isKnown && token === "good" ? HOLDER : undefined);
  return { callers: createCallers({ verifiers: [{ find }], allowsLocal: true }), tokens };
}

/** A request with these lines, as Node's server gives it. */
async function receive(...lines: readonly string[]) {
  const server = createServer();
  const origin = await openOrigin(server);
  const client = connect(origin.port, "127.0.0.1").on("error", () => undefined);
  client.write(["GET / HTTP/1.1", "Host: a", ...lines, "", ""].join("\r\n"));
  const [request, response] = (await once(server, "request")) as [IncomingMessage, ServerResponse];
  return { request, response, [Symbol.asyncDispose]: () => origin[Symbol.asyncDispose]() };
}

it("knows who sent a request, once it is admitted", async () => {
  const { callers } = openCallers();
  await using asked = await receive("Authorization: Bearer good");
  expect(callers.find(asked.request)).toBeUndefined();
  expect(() => callers.of(asked.request)).toThrow(TypeError);
  expect(await callers.admit(asked.request, asked.response)).toBe(HOLDER);
  expect([callers.find(asked.request), callers.of(asked.request)]).toEqual([HOLDER, HOLDER]);
});

it("admits nobody with a wrong token, and nobody with two", async () => {
  const { callers } = openCallers();
  for (const lines of [["Authorization: Bearer bad"], ["Authorization: Bearer good", "authorization: Bearer good"]]) {
    await using asked = await receive(...lines);
    await expect(callers.admit(asked.request, asked.response)).rejects.toMatchObject({ code: "UNAUTHORIZED" });
    expect(callers.find(asked.request)).toBeUndefined();
  }
});

it("ends what a token has opened when the token ends, and looks after nothing of the local user's", async () => {
  const { callers, tokens } = openCallers();
  await using local = await receive();
  expect(await callers.admit(local.request, local.response)).toEqual({ ...LOCAL, isAnybody: true });
  expect(vi.getTimerCount()).toBe(0);
  await using asked = await receive("Authorization: Bearer good");
  await callers.admit(asked.request, asked.response);
  const closed = once(asked.request.socket, "close");
  tokens.isKnown = false;
  await vi.advanceTimersByTimeAsync(5_000);
  await closed;
});

it("reads the token where a surface has it", async () => {
  const callers = createCallers({
    verifiers: [{ find: async (token) => (token === "good" ? HOLDER : undefined) }],
    allowsLocal: false,
    tokenOf: (headers) => headers["x-key"] as string | undefined,
  });
  await using asked = await receive("X-Key: good", "Authorization: Bearer bad");
  expect(await callers.admit(asked.request, new EventEmitter())).toBe(HOLDER);
  await using other = await receive("Authorization: Bearer good");
  await expect(callers.admit(other.request, new EventEmitter())).rejects.toMatchObject({ code: "UNAUTHORIZED" });
});
