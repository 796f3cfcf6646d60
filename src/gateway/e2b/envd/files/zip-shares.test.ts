import { expect, it } from "vitest";
import { createZipShares } from "./zip-shares.ts";

it("gives an owner its share, all owners no more than there is, and a place back once", () => {
  const shares = createZipShares({ ofOwner: 2, all: 3 });
  const first = shares.take("ann");
  const taken = [first, shares.take("ann"), shares.take("ann"), shares.take("bob"), shares.take("bob")];
  expect(taken.map((share) => share !== undefined)).toEqual([true, true, false, true, false]);
  first?.[Symbol.dispose]();
  first?.[Symbol.dispose]();
  expect([shares.take("bob"), shares.take("bob")].map((share) => share !== undefined)).toEqual([true, false]);
});
