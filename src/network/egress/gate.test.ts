import { expect, it } from "vitest";
import { NO_LISTENERS } from "../../../test/support/no-listeners.ts";
import type { EgressState } from "../egress.ts";
import { DEFAULT_LIMITS } from "./egress-options.ts";
import { Gate } from "./gate.ts";

function openGate(address: string, state: EgressState): Gate {
  return new Gate(
    {
      sandbox: { id: "a1b2c3d4e5f6g7h8i9j0", owner: "local" },
      resolver: { resolve: async () => [address] },
      limits: DEFAULT_LIMITS,
      listeners: NO_LISTENERS,
      allowances: [],
      nameAt: () => undefined,
      record: () => {},
    },
    state,
  );
}

const PLACE = { host: "db.corp.test", port: 443 };
/** Resolvers answer with such addresses where they filter, or where another program carries the connections of this machine. */
const RANGES = ["198.18.0.9", "192.0.2.1", "198.51.100.7", "203.0.113.9", "2001:db8::5"];

it.each([...RANGES, "10.0.0.1"])("follows a name to %s by a rule with exactly its host and port, and by no other", async (address) => {
  const opened = openGate(address, { policy: { allow: ["db.corp.test:443"] } });
  expect(await opened.resolve(PLACE)).toEqual([address]);
  for (const policy of ["all", { allow: ["db.corp.test"] }, { allow: ["*.corp.test:443"] }, { allow: ["db.corp.test:80"] }] as const) {
    const refused = await openGate(address, { policy }).resolve(PLACE);
    expect(refused).toMatchObject({ reason: "private-address", missingRule: "db.corp.test:443" });
  }
});

it.each([...RANGES, "10.0.0.1"])("needs the scope of the rule's author to follow a name to %s", async (address) => {
  for (const inside of ["none", "all", { allow: ["db.corp.test"] }] as const) {
    const refused = await openGate(address, { policy: { allow: ["db.corp.test:443"] }, inside }).resolve(PLACE);
    expect(refused).toMatchObject({ reason: "private-address", text: expect.stringContaining("the scope network:db.corp.test:443") });
  }
});

it.each(["169.254.169.254", "0.0.0.0", "224.0.0.1", "fe80::1"])("follows no name to %s, whatever the rules say", async (address) => {
  const refused = await openGate(address, { policy: { allow: ["db.corp.test:443"] } }).resolve(PLACE);
  expect(refused).toMatchObject({ reason: "private-address", missingRule: undefined });
});
