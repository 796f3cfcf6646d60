import { expect, it } from "vitest";
import type { Isolation, IsolationCheck } from "../../runtime/runtime.ts";
import { withNetworkCheck } from "./network-check.ts";

const NETWORK: IsolationCheck = { id: "network", state: "enforced", detail: "No network but loopback" };
const isolation = (more: Partial<Isolation>): Isolation => ({
  runtime: "namespace",
  available: true,
  checks: [NETWORK],
  limits: [],
  users: "two",
  terminals: true,
  pause: true,
  ...more,
});

it("says that policies hold where the sandbox has no network of its own", () => {
  expect(withNetworkCheck(isolation({})).checks).toMatchObject([NETWORK, { id: "network-policy", state: "enforced" }]);
});

it("promises no policy where that was not found", () => {
  expect(withNetworkCheck(isolation({ checks: [] })).checks).toMatchObject([{ id: "network-policy", state: "absent" }]);
});

it("says nothing of networks where no sandbox can be made", () => {
  expect(withNetworkCheck(isolation({ available: false, checks: [] })).checks).toEqual([]);
});
