import { expect, it } from "vitest";
import { ABLE_HOST } from "../../../test/support/host-isolation.ts";
import type { Isolation, IsolationCheck } from "../../runtime/contract/runtime.ts";
import { withNetworkChecks } from "./network-check.ts";

const NETWORK: IsolationCheck = { id: "network", state: "enforced", detail: "No network but loopback" };
const isolation = (more: Partial<Isolation>): Isolation => ({ ...ABLE_HOST, checks: [NETWORK], ...more });

it("reports that policies hold if the sandbox has no network of its own", () => {
  expect(withNetworkChecks(isolation({})).checks).toMatchObject([NETWORK, { id: "network-policy", state: "enforced" }]);
});

it("promises no policy otherwise", () => {
  expect(withNetworkChecks(isolation({ checks: [] })).checks).toMatchObject([{ id: "network-policy", state: "absent" }]);
});

it("reports nothing about networks if no sandbox can be created", () => {
  expect(withNetworkChecks(isolation({ available: false, checks: [] })).checks).toEqual([]);
});
