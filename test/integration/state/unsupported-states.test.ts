import { expect, it } from "vitest";
import { LOCAL } from "../../../src/sandbox/sandbox.ts";
import { openFakeSandboxes } from "../../support/fake-sandboxes.ts";

const signal = new AbortController().signal;

it("says that a runtime keeps no states, and leaves nothing", async () => {
  await using home = await openFakeSandboxes();
  const { snapshots } = home.sandboxes;
  const { id, timeLine } = await home.sandboxes.create(LOCAL, {}, signal);
  const asks = [
    snapshots.create(LOCAL, id, { name: "x" }, signal),
    snapshots.fork(LOCAL, { sandbox: id }, {}, signal),
    timeLine.list(),
    timeLine.checkpoint({}, signal),
    timeLine.rollback("abcdefgh", signal),
    timeLine.remove("abcdefgh"),
    timeLine.diff({ from: "abcdefgh" }, signal),
    timeLine.undo("abcdefgh", ["/x"], signal),
  ];
  for (const asked of await Promise.allSettled(asks)) expect(asked).toMatchObject({ reason: { code: "NOT_SUPPORTED" } });
  expect(await snapshots.list(LOCAL)).toEqual([]);
  await expect(snapshots.info(LOCAL, "x")).rejects.toMatchObject({ code: "SNAPSHOT_NOT_FOUND" });
  await expect(home.sandboxes.create(LOCAL, { template: "x" }, signal)).rejects.toMatchObject({ code: "TEMPLATE_NOT_FOUND" });
});
