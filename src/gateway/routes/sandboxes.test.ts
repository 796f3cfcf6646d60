import { expect, it } from "vitest";
import { createCallProbe } from "../../../test/support/call-probe.ts";
import { createOneSandbox, SANDBOX_ID } from "../../../test/support/one-sandbox.ts";
import { BelljarError } from "../../errors.ts";
import { LOCAL } from "../../sandbox/sandbox.ts";
import { createGateway } from "../gateway.ts";

it.each([false, true])("ends the sandbox that it made and cannot tell of; ephemeral: %s", async (ephemeral) => {
  const one = createOneSandbox(() => Promise.reject(new TypeError("not asked here")));
  const killed: string[] = [];
  const made = {
    ...(await one.get(LOCAL, SANDBOX_ID)),
    info: () => Promise.reject(new BelljarError("SANDBOX_UNRESPONSIVE", "It does not answer")),
    kill: async () => void killed.push(SANDBOX_ID),
  };
  const gateway = createGateway({
    config: { host: "127.0.0.1", port: 0 },
    sandboxes: { ...one, create: async () => made },
    tools: createCallProbe().tools,
    isolation: () => Promise.reject(new TypeError("not asked here")),
    version: "1.2.3",
    log: { error: () => undefined },
  });
  const url = new URL("/v1/sandboxes", await gateway.listen());
  const headers = { "content-type": "application/json" };
  const answer = await fetch(url, { method: "POST", headers, body: JSON.stringify({ ephemeral }) });
  expect(await answer.json()).toMatchObject({ error: { code: "SANDBOX_UNRESPONSIVE" } });
  expect(killed).toEqual([SANDBOX_ID]);
  await gateway.close(0);
});
