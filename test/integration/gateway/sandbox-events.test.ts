import { expect, it } from "vitest";
import { createRemoteSandboxes } from "../../../src/remote/remote-sandboxes.ts";
import { Journal } from "../../../src/sandbox/journal.ts";
import { LOCAL } from "../../../src/sandbox/sandbox.ts";
import { openEvents } from "../../support/event-reader.ts";
import { openTeamLab } from "../../support/team-lab.ts";

const signal = new AbortController().signal;

it("tells each token's holder of its own sandboxes alone, and nobody without a token", async () => {
  await using lab = await openTeamLab({ host: "0.0.0.0" });
  const alice = createRemoteSandboxes({ url: lab.url, token: lab.alice.token });
  const bob = createRemoteSandboxes({ url: lab.url, token: lab.bob.token });
  await using hers = await openEvents(alice, LOCAL);
  await using his = await openEvents(bob, LOCAL);
  const first = await alice.create(LOCAL, {}, signal);
  expect(await hers.next()).toEqual({ type: "created", sandbox: first.id });
  await first.kill();
  await hers.until(({ type }) => type === "ended");
  const second = await bob.create(LOCAL, {}, signal);
  expect(await his.next()).toEqual({ type: "created", sandbox: second.id });
  await expect(openEvents(createRemoteSandboxes({ url: lab.url }), LOCAL)).rejects.toMatchObject({ code: "UNAUTHORIZED" });
});

it("tells over the wire that events were lost", async () => {
  await using lab = await openTeamLab();
  const { principal, token } = lab.alice;
  const remote = createRemoteSandboxes({ url: lab.url, token });
  const { id } = await lab.sandboxes.create(principal, {}, signal);
  await using events = await openEvents(remote, LOCAL);
  const journal = new Journal(lab.home, () => undefined);
  const { record } = (await journal.read(id)) ?? {};
  if (!record) throw new TypeError("The sandbox has no record");
  for (let count = 0; count < 1_000; count += 1) {
    journal.announce(id);
    journal.write({ ...record, id: String(count).padStart(20, "x"), owner: "nobody" });
  }
  expect(await events.until(({ type }) => type === "resync")).toEqual({ type: "resync" });
});
