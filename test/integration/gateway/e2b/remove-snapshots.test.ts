import { expect, it } from "vitest";
import { removeSnapshot, takeSnapshot } from "../../../../src/gateway/e2b/control/snapshots.ts";
import { teamOf } from "../../../../src/gateway/e2b/control/team.ts";
import type { Principal } from "../../../../src/sandbox/sandbox.ts";
import { useFakeHome } from "../../../support/fake-home.ts";
import { withMemoryStates } from "../../../support/memory-states.ts";

const home = useFakeHome();
const signal = new AbortController().signal;
const [AGENT, OTHER] = ["agent", "other"].map((name): Principal => ({ id: `token:${name}`, name })) as [Principal, Principal];

it("removes the caller's snapshots of an id or a name, and tells whether there was one", async () => {
  const sandboxes = withMemoryStates(home.openHome());
  const { id: sandbox } = await sandboxes.create(AGENT, {}, signal);
  const take = (name?: string) => takeSnapshot(sandboxes, AGENT, { sandbox, name, signal });
  const [unnamed, , tagged] = [await take(), await take("nightly"), await take("nightly:v1")];
  const left = async () => (await sandboxes.snapshots.list(AGENT)).map(({ id }) => id).toSorted();
  for (const text of ["nothing", "nightly:v2", "../x", "", "a b", "otherteam/nightly"])
    expect(await removeSnapshot(sandboxes, AGENT, text), text).toBe(false);
  expect(await removeSnapshot(sandboxes, OTHER, "nightly"), "of another owner").toBe(false);
  expect(await left()).toHaveLength(3);
  expect(await removeSnapshot(sandboxes, AGENT, `${teamOf(AGENT).slug}/nightly:default`)).toBe(true);
  expect(await left()).toEqual([unnamed.id, tagged.id].toSorted());
  expect(await removeSnapshot(sandboxes, AGENT, `${unnamed.id}:default`)).toBe(true);
  expect(await removeSnapshot(sandboxes, AGENT, "nightly:v1")).toBe(true);
  expect([await left(), await removeSnapshot(sandboxes, AGENT, "nightly:v1")]).toEqual([[], false]);
});
