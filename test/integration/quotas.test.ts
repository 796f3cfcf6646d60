import { expect, it } from "vitest";
import { createRemoteSandboxes } from "../../src/remote/remote-sandboxes.ts";
import { LOCAL } from "../../src/sandbox/sandbox.ts";
import { openTestHome, openTestServer } from "../support/served-home.ts";

const signal = new AbortController().signal;

it("two servers on one home give a token's quota once, however many ask at the same moment", async () => {
  await using home = await openTestHome();
  const { token } = JSON.parse(await home.belljar("token", "create", "ci", "--scope", "sandboxes:3", "--json")) as { token: string };
  const servers = await Promise.all([openTestServer(home), openTestServer(home)]);
  try {
    const places = servers.map(({ url }) => createRemoteSandboxes({ url, token }));
    const wishes = [...places, ...places, ...places, ...places].map((sandboxes) => sandboxes.create(LOCAL, {}, signal));
    const outcomes = await Promise.allSettled(wishes);
    const made = outcomes.flatMap((outcome) => (outcome.status === "fulfilled" ? [outcome.value] : []));
    const refused = outcomes.flatMap((outcome) => (outcome.status === "rejected" ? [outcome.reason as unknown] : []));
    for (const reason of refused) expect(reason).toMatchObject({ code: "QUOTA_EXCEEDED", message: expect.stringMatching(/try again at/) });
    expect(made).toHaveLength(3);
    await made[0]?.kill();
    const next = await places[1]?.create(LOCAL, {}, signal);
    await Promise.all([...made.slice(1), next].map(async (sandbox) => sandbox?.kill()));
  } finally {
    await Promise.all(servers.map((server) => server[Symbol.asyncDispose]()));
  }
});
