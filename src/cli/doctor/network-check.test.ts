import { expect, it } from "vitest";
import type { Isolation, IsolationCheck } from "../../runtime/runtime.ts";
import { withNetworkChecks } from "./network-check.ts";

const NETWORK: IsolationCheck = { id: "network", state: "enforced", detail: "No network but loopback" };
const isolation = (more: Partial<Isolation>): Isolation => ({
  runtime: "namespace",
  available: true,
  checks: [NETWORK],
  limits: [],
  users: "two",
  terminals: true,
  pause: true,
  sleep: true,
  stop: true,
  states: "none",
  ...more,
});

it("reports that policies hold if the sandbox has no network of its own", () => {
  expect(withNetworkChecks(isolation({})).checks).toMatchObject([NETWORK, { id: "network-policy", state: "enforced" }]);
});

it("promises no policy otherwise", () => {
  expect(withNetworkChecks(isolation({ checks: [] })).checks).toMatchObject([{ id: "network-policy", state: "absent" }]);
});

it("reports nothing about networks if no sandbox can be created", () => {
  expect(withNetworkChecks(isolation({ available: false, checks: [] })).checks).toEqual([]);
});
