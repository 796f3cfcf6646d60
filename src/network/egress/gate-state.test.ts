import { describe, expect, it } from "vitest";
import { NO_LISTENERS } from "../../../test/support/no-listeners.ts";
import type { ConnectionRecord } from "../connection-record.ts";
import type { EgressState } from "../egress.ts";
import type { SecretGuard } from "../secrets/secret-guard.ts";
import { Allowance } from "./bounds.ts";
import { DEFAULT_LIMITS } from "./egress-options.ts";
import { Gate, unreachable } from "./gate.ts";
import { Refusal } from "./refusal.ts";

const PLACE = { host: "good.test", port: 443 };
const guardOf = (host: string) => ({ terminates: (name, port) => name === host && port === 443 }) as Partial<SecretGuard> as SecretGuard;

function openGate(state: EgressState, { allowances = [] as readonly Allowance[], addresses = ["1.1.1.1"] } = {}) {
  const records: ConnectionRecord[] = [];
  const faults: unknown[] = [];
  const gate = new Gate(
    {
      sandbox: { id: "a1b2c3d4e5f6g7h8i9j0", owner: "ann" },
      resolver: { resolve: async (host) => (host === "none.test" ? Promise.reject(new Error("none")) : addresses) },
      limits: DEFAULT_LIMITS,
      listeners: NO_LISTENERS,
      allowances,
      nameAt: (address) => (address === "198.18.0.9" ? "good.test" : undefined),
      record: (record) => void records.push(record),
      onFault: (error, sandbox) => void faults.push([error, sandbox]),
    },
    state,
  );
  return { gate, records, faults };
}

const rules = (...allow: readonly string[]): EgressState => ({ policy: { allow } });

describe("TLS is read", () => {
  it.each<[what: string, state: EgressState, isRead: boolean]>([
    ["at a secret's host", { ...rules("good.test"), guard: guardOf("good.test") }, true],
    ["at no other host", { ...rules("good.test"), guard: guardOf("other.test") }, false],
    ["if each rule has conditions", rules("GET https://good.test", "https://good.test/a"), true],
    ["not if one has none", rules("GET https://good.test", "https://good.test"), false],
    ["not if only plain HTTP has conditions", rules("GET http://good.test:443", "good.test:443"), false],
    ["not where nothing is allowed", rules("GET http://good.test:443"), false],
    ["at a secret's host with all", { policy: "all", guard: guardOf("good.test") }, true],
  ])("%s", (_what, state, isRead) => {
    expect(openGate(state).gate.readsTls(PLACE)).toBe(isRead);
  });
});

it("follows each new state, and cuts the flows that it forbids", () => {
  const { gate, records } = openGate(rules("good.test"));
  const cuts: string[] = [];
  const open = (host: string) => {
    const flow = gate.start({ via: "connect", place: { host, port: 443 } });
    flow.isStillAllowed = () => gate.find(flow.place).length > 0;
    flow.cut = ({ reason }) => void cuts.push(`${host} ${reason}`);
    return flow;
  };
  open("good.test");
  open("other.test");
  expect([gate.generation, gate.isAll, gate.guard]).toEqual([0, false, undefined]);
  const guard = guardOf("good.test");
  gate.update({ policy: "all", guard });
  expect([gate.generation, gate.isAll, gate.guard, cuts, gate.ports("x.test")]).toEqual([1, true, guard, [], [80, 443, 22, 8080, 8443]]);
  gate.update(rules("good.test"));
  expect([gate.generation, gate.isAll, gate.guard, cuts]).toEqual([2, false, undefined, ["other.test policy-changed"]]);
  expect(records).toMatchObject([{ host: "other.test", owner: "ann", sandbox: "a1b2c3d4e5f6g7h8i9j0", verdict: "refused" }]);
});

it("cuts a flow to a private address when its exact rule goes", () => {
  const { gate } = openGate(rules("db.test:443"));
  const cuts: string[] = [];
  const open = (host: string, address: string) => {
    const flow = gate.start({ via: "connect", place: { host, port: 443 } });
    [flow.address, flow.cut] = [address, () => void cuts.push(address)];
  };
  open("db.test", "10.0.0.1");
  open("db.test", "1.1.1.1");
  gate.update({ policy: { allow: ["db.test:443"] }, inside: { allow: ["db.test:443"] } });
  expect(cuts).toEqual([]);
  gate.update(rules("db.test"));
  expect(cuts).toEqual(["10.0.0.1"]);
});

it("ends every flow when the sandbox ends, as allowed", () => {
  const { gate, records } = openGate(rules("good.test"));
  const cuts: string[] = [];
  gate.start({ via: "connect", place: PLACE }).cut = ({ reason }) => void cuts.push(reason);
  gate.close();
  expect([cuts, records.map(({ verdict }) => verdict)]).toEqual([["reset"], ["allowed"]]);
});

it("reports what no broken stream explains", () => {
  const { gate, faults } = openGate(rules("good.test"));
  const fault = new TypeError("a bug");
  for (const error of [Object.assign(new Error("x"), { code: "ECONNRESET" }), fault, "text"]) gate.fault(error);
  expect(faults).toEqual([
    [fault, "a1b2c3d4e5f6g7h8i9j0"],
    ["text", "a1b2c3d4e5f6g7h8i9j0"],
  ]);
});

it("counts bytes against every bound, and stops a flow that has used one up", () => {
  const bounds = { connections: 9, connectionsPerSecond: 9, bytesPerDay: 100 };
  const [sandbox, owner] = [new Allowance({ ...bounds, bytesPerDay: 10 }), new Allowance(bounds)];
  const { gate, records } = openGate(rules("good.test"), { allowances: [sandbox, owner] });
  const flow = gate.start({ via: "connect", place: PLACE });
  flow.sent(9);
  expect(flow.isOver).toBe(false);
  flow.received(1);
  expect([flow.isOver, records[0]?.reason]).toEqual([true, "too-much-data"]);
  expect(owner.takeBytes(89)).toBe(true);
  expect(owner.takeBytes(1)).toBe(false);
});

describe("a place", () => {
  const resolve = async (host: string, addresses: readonly string[], ...allow: readonly string[]) => {
    const found = await openGate(rules(...allow), { addresses: [...addresses] }).gate.resolve({ host, port: 443 });
    return found instanceof Refusal ? found.reason : found;
  };

  it.each<[host: string, addresses: readonly string[], found: string | readonly string[]]>([
    ["good.test", ["1.1.1.1", "2606:4700::1"], ["1.1.1.1", "2606:4700::1"]],
    ["good.test", ["::ffff:1.1.1.1"], ["1.1.1.1"]],
    ["good.test", ["1.1.1.1", "10.0.0.1"], "mixed-addresses"],
    ["good.test", ["10.0.0.1"], "private-address"],
    ["good.test", ["10.0.0.1", "169.254.1.1"], "private-address"],
    ["good.test", ["fe80::1%eth0"], "private-address"],
    ["good.test", [], "no-address"],
    ["none.test", ["1.1.1.1"], "no-address"],
    ["1.1.1.1", [], ["1.1.1.1"]],
    ["10.0.0.1", [], "private-address"],
    ["198.18.0.9", [], "private-address"],
  ])("%s with the addresses %j leads to %s", async (host, addresses, found) => {
    expect(await resolve(host, addresses, "good.test")).toEqual(found);
  });

  it("outside the Internet needs a rule with its port", async () => {
    expect(await resolve("10.0.0.1", [], "10.0.0.1:443")).toEqual(["10.0.0.1"]);
    expect(await resolve("10.0.0.1", [], "10.0.0.1:80")).toBe("private-address");
    expect(await resolve("good.test", ["10.0.0.1"], "good.test:443")).toEqual(["10.0.0.1"]);
  });

  it("says why it is not reached", () => {
    const texts = (["connection-refused", "timed-out", "reset", "bad-certificate", "bad-response", "unreachable"] as const).map(
      (reason) => unreachable(reason, { host: "::1", port: 80 }).text,
    );
    expect(new Set(texts).size).toBe(6);
    expect(texts.every((text) => text.startsWith("[::1]:80 ") && text.endsWith("."))).toBe(true);
  });
});
