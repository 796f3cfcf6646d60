import { mkdtemp, rm, utimes } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { storeTemplate } from "../../test/support/store-template.ts";
import { LOCAL, type Principal } from "../sandbox/sandbox.ts";
import { StoredTemplates } from "./stored-templates.ts";

const [ANN, BOB, EVE] = ["ann", "bob", "eve"].map((name) => ({ id: `token:${name}`, name }));

async function open() {
  const home = await mkdtemp(join(tmpdir(), "belljar-stored-"));
  const stored = new StoredTemplates(home, () => undefined);
  return {
    stored,
    /** `at`: seconds since 1970. */
    async share({ id: owner }: Principal, at: number): Promise<void> {
      const { id } = await storeTemplate(home, { owner, name: "python" });
      await stored.files.share(id, true);
      await utimes(join(home, "templates", id, "shared"), at, at);
      await stored.files.share(id, true);
    },
    ownerFor: async (principal: Principal) => (await stored.record(principal, "python"))?.owner,
    [Symbol.asyncDispose]: () => rm(home, { recursive: true }),
  };
}

it("of the templates that others share under one name, the one shared first is taken, and the local user's before it", async () => {
  await using home = await open();
  await home.share(BOB!, 2_000);
  await home.share(EVE!, 3_000);
  expect([await home.ownerFor(ANN!), await home.ownerFor(EVE!), await home.stored.sharer("python")]).toEqual([BOB!.id, EVE!.id, BOB!.id]);
  await home.share(EVE!, 1_000); // a new build of hers
  expect(await home.ownerFor(ANN!)).toBe(EVE!.id);
  await home.share(LOCAL, 4_000);
  expect([await home.ownerFor(ANN!), await home.ownerFor(BOB!), await home.stored.sharer("python")]).toEqual([LOCAL.id, BOB!.id, LOCAL.id]);
  expect((await home.stored.records(ANN!)).map(({ owner }) => owner)).toEqual([LOCAL.id]);
});

it("a template whose owner is named is taken of that owner alone", async () => {
  await using home = await open();
  await home.share(BOB!, 1_000);
  expect(await home.stored.find(BOB!, "python", LOCAL.id)).toBeUndefined();
  await home.share(LOCAL, 2_000);
  const found = await Promise.all([ANN!, BOB!, LOCAL].map((one) => home.stored.find(one, "python", LOCAL.id)));
  expect(found.map((one) => one?.env.OF)).toEqual([LOCAL.id, LOCAL.id, LOCAL.id]);
});
