import { expect, it } from "vitest";
import { ABLE_HOST } from "../../../test/support/host-isolation.ts";
import { withLanguagesCheck } from "./languages-check.ts";

const KNOWN = [
  { name: "shared", isShared: true },
  { name: "own", isShared: false },
];
const none = () => Promise.reject(new Error("nobody asked for templates"));

it.each([
  [{ go: { template: "shared" }, lua: { command: ["lua"] } }, "enforced", 'Programs run in templates: go in "shared"', undefined],
  [
    { go: { template: "own" }, c: { template: "shared" } },
    "partial",
    'Programs of go in "own" for the local user alone: the template is not shared',
    "belljar template share own   (for callers with tokens)",
  ],
  [
    { go: { template: "none" }, c: { template: "none" }, perl: { template: "own" } },
    "absent",
    'No programs of go in "none", c in "none": the local user has no such template',
    "belljar template import none IMAGE",
  ],
])("says of %j that it is %s", async (settings, state, detail, remedy) => {
  const { checks } = await withLanguagesCheck(ABLE_HOST, settings, async () => KNOWN);
  expect(checks).toEqual([{ id: "languages", state, detail, ...(remedy !== undefined && { remedy }) }]);
});

it("looks for no templates where none is named, and where no sandbox can be made", async () => {
  expect(await withLanguagesCheck(ABLE_HOST, { lua: { command: ["lua"] } }, none)).toBe(ABLE_HOST);
  const host = { ...ABLE_HOST, available: false };
  expect(await withLanguagesCheck(host, { go: { template: "go" } }, none)).toBe(host);
});
