import { setImmediate } from "node:timers/promises";
import { expect, it } from "vitest";
import { createCalls } from "./calls.ts";
import { HeldCalls } from "./held-calls.ts";

it("ends a question in its time, however often the client calls again without an answer", async () => {
  const calls = new HeldCalls<{ readonly isError: boolean }>(createCalls(), 50);
  const { signal } = new AbortController();
  const round = { signal, assertAskable: () => undefined };
  const asked = { principal: { id: "local", name: "local" }, method: "tools/call", name: "ask", args: {} };
  const ended: unknown[] = [];
  const first = await calls.start(asked, round, async ({ relay, signal: stopped }) => {
    await relay({ q: { method: "elicitation/create" } }, stopped).catch((error: unknown) => ended.push(error));
    return { isError: true };
  });
  if (!("resultType" in first)) throw new Error("The call does not ask");
  const { requestState: state = "" } = first;
  const again = () => calls.resume(asked, round, { state, responses: {} });
  expect(await again()).toEqual(first);
  while (ended.length === 0) {
    await again();
    await setImmediate();
  }
  expect(ended).toMatchObject([{ code: "PERSON_UNREACHABLE" }]);
  await expect(again()).rejects.toMatchObject({ code: "ARGUMENTS_INVALID" });
});
