import { request } from "node:http";
import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import { expect, it } from "vitest";
import { openCallbackListener } from "./callback-listener.ts";

const never = new AbortController().signal;

async function ask(url: string, options: object = {}): Promise<number | undefined> {
  const asked = request(url, options).end();
  const [answer] = (await once(asked, "response")) as [IncomingMessage];
  answer.resume();
  await once(answer, "end");
  return answer.statusCode;
}

it("gives the query of the first redirect with the state, and refuses all others", async () => {
  await using listener = await openCallbackListener();
  const { redirectUrl } = listener;
  expect(await ask(`${redirectUrl}?state=s&code=early`)).toBe(404);
  const back = listener.back("s", never);
  expect(await ask(`${redirectUrl}?code=1`)).toBe(404);
  expect(await ask(`${redirectUrl}?code=1&state=t`)).toBe(404);
  expect(await ask(`${redirectUrl}/x?code=1&state=s`)).toBe(404);
  expect(await ask(`${redirectUrl}?code=1&state=s`, { method: "POST" })).toBe(404);
  expect(await ask(`${redirectUrl}?code=1&state=s`, { headers: { host: "evil.example" } })).toBe(404);
  expect(await ask(`${redirectUrl}?code=2&state=s`)).toBe(200);
  expect(Object.fromEntries(await back)).toEqual({ code: "2", state: "s" });
});

it("takes the port of an earlier login if it is free, and another one if it is not", async () => {
  const first = await openCallbackListener();
  await using taken = await openCallbackListener({ redirectUrl: first.redirectUrl });
  expect(taken.redirectUrl).not.toBe(first.redirectUrl);
  await expect(openCallbackListener({ port: Number(new URL(first.redirectUrl).port) })).rejects.toMatchObject({ code: "PORT_TAKEN" });
  await first[Symbol.asyncDispose]();
  await using again = await openCallbackListener({ redirectUrl: first.redirectUrl });
  expect(again.redirectUrl).toBe(first.redirectUrl);
});

it("waits no longer than it is asked to", async () => {
  await using listener = await openCallbackListener();
  await expect(listener.back("s", AbortSignal.abort())).rejects.toMatchObject({ code: "CANCELLED" });
  const over = new AbortController();
  const waiting = expect(listener.back("s", over.signal)).rejects.toMatchObject({ code: "CANCELLED" });
  over.abort();
  await waiting;
});
