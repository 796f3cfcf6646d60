import { expect, it } from "vitest";
import { createRecordedEgress } from "../../test/support/recorded-egress.ts";
import { openFakeSandboxes } from "../../test/support/fake-sandboxes.ts";
import type { Grants, Principal } from "./sandbox.ts";

const { signal } = new AbortController();
const NPM = { allow: ["npm"] } as const;
const forbidden = expect.objectContaining({ code: "FORBIDDEN" }) as Error;
/** Another token of the same owner. */
const holder = (grants: Grants): Principal => ({ id: "token:ci", name: "ci", grants });
const open = () => openFakeSandboxes({ egress: createRecordedEgress() });

it("gives a token the sandbox of another one that reaches no more than it may", async () => {
  await using place = await open();
  const { id } = await place.sandboxes.create(holder({}), { network: NPM }, signal);
  const sandbox = await place.sandboxes.get(holder({ network: NPM }), id);
  expect((await sandbox.guest.run({ argv: ["true"], signal })).exitCode).toBe(0);
  await sandbox.setNetwork("none");
  await sandbox.setNetwork(NPM);
  await expect(sandbox.setNetwork("all")).rejects.toThrow(forbidden);
});

it("lets a token look at and end one that reaches more, and no more", async () => {
  await using place = await open();
  const { id } = await place.sandboxes.create(holder({}), { network: "all" }, signal);
  const sandbox = await place.sandboxes.get(holder({ network: NPM }), id);
  expect(await sandbox.info()).toMatchObject({ network: "all" });
  expect(() => sandbox.guest.run({ argv: ["true"], signal })).toThrow(forbidden);
  await expect(sandbox.connect(signal)).rejects.toThrow(forbidden);
  await expect(sandbox.setNetwork("none")).rejects.toThrow(forbidden);
  await expect(sandbox.registerPort(8_000, "public")).rejects.toThrow(forbidden);
  await sandbox.kill();
  expect(await place.sandboxes.info(holder({}), id)).toMatchObject({ state: "ended" });
});

it("holds a stopped one that is started again to the token that starts it", async () => {
  await using place = await open();
  const { id } = await place.sandboxes.create(holder({}), { network: "all" }, signal);
  await (await place.sandboxes.get(holder({}), id)).stop();
  await expect((await place.sandboxes.get(holder({ network: NPM }), id)).start(signal)).rejects.toThrow(forbidden);
  const started = await (await place.sandboxes.get(holder({}), id)).start(signal);
  await expect(started.setNetwork({ allow: ["127.0.0.1:80"] })).rejects.toThrow(forbidden);
  expect((await started.guest.run({ argv: ["true"], signal })).exitCode).toBe(0);
});
