import { expect, it } from "vitest";
import { createRecordedEgress } from "../../../support/recorded-egress.ts";
import { openToolCaller, textOf } from "../../../support/tool-caller.ts";
import { LOCAL } from "../../../../src/sandbox/sandbox.ts";

const signal = new AbortController().signal;

function openCaller() {
  return openToolCaller({ home: { egress: createRecordedEgress(), network: { allow: ["npm", "pypi"] } } });
}

it("shows what the default sandbox may reach", async () => {
  await using caller = await openCaller();
  const result = await caller.call("sandbox_network", {});
  expect(result.value).toEqual({ allow: ["npm", "pypi"], at_most: ["npm", "pypi"] });
  expect(textOf(result)).toBe('{"allow":["npm","pypi"],"at_most":["npm","pypi"]}');
});

it("changes it within the configured policy, and back", async () => {
  await using caller = await openCaller();
  expect((await caller.call("sandbox_network", { allow: [] })).value).toEqual({ allow: [], at_most: ["npm", "pypi"] });
  const wider = await caller.call("sandbox_network", { allow: ["https://pypi.org", "npm"] });
  expect(wider.value).toEqual({ allow: ["https://pypi.org", "npm"], at_most: ["npm", "pypi"] });
});

it.each([[["all"]], [["github"]], [["npm", "registry.npmjs.org:8080"]]])("refuses %j, which is more than a person gave", async (allow) => {
  await using caller = await openCaller();
  const result = await caller.call("sandbox_network", { allow });
  expect(result.isError).toBe(true);
  expect(textOf(result)).toMatch(/^FORBIDDEN.*a person can widen it/s);
  expect((await caller.call("sandbox_network", {})).value).toMatchObject({ allow: ["npm", "pypi"] });
});

it("does not undo what a person took away", async () => {
  await using caller = await openCaller();
  const sandbox = await caller.sandboxes.create(LOCAL, {}, signal);
  await sandbox.setNetwork({ allow: ["pypi"] });
  expect((await caller.call("sandbox_network", { sandbox: sandbox.id, allow: ["npm"] })).isError).toBe(true);
});

it("keeps a token's owner within its grant", async () => {
  await using caller = await openCaller();
  const principal = { id: "narrow", name: "narrow", grants: { network: { allow: ["npm"] } } };
  const call = (allow: readonly string[]) => caller.catalog.call(principal, "sandbox_network", { allow }, { signal });
  expect((await call(["npm"])).isError).toBeUndefined();
  expect((await call(["pypi"])).isError).toBe(true);
});

it.each([[{ allow: "npm" }], [{ allow: [""] }], [{ allow: ["*.com"] }], [{ allow: ["all", "npm"] }], [{ deny: ["npm"] }]])(
  "refuses the arguments %j",
  async (args) => {
    await using caller = await openCaller();
    expect(textOf(await caller.call("sandbox_network", args))).toMatch(/^ARGUMENTS_INVALID/);
  },
);
