import { expect, it } from "vitest";
import { LOCAL } from "../../../src/sandbox/sandbox.ts";
import { type ConformanceServer, openConformanceServer } from "../../support/conformance/conformance-server.ts";
import { failedChecks, passedOf, requiredOf, runSuite, SUITE_TIMEOUT_MS } from "../../support/conformance/run-suite.ts";
import { openHubGateway } from "../../support/hub-gateway.ts";
import { openHubLab } from "../../support/hub-lab.ts";
import { openLegacyFront } from "../../support/legacy-front.ts";

/** The suite's server behind a hub, which speaks the named era to it. */
async function withPair<T>(era: "legacy" | "modern", work: (pair: Pair) => Promise<T>): Promise<T> {
  await using server = await openConformanceServer();
  using front = era === "legacy" ? await openLegacyFront(server.url) : undefined;
  const entry = { type: "http", url: (front?.url ?? server.url).href, headers: { Authorization: `Bearer ${server.token}` } };
  await using lab = await openHubLab({ suite: entry }, { prefix: "", listMax: 1_000 });
  await lab.until(() => lab.names().length > 0);
  expect(lab.hub.upstreamsOf(LOCAL)).toHaveLength(1);
  await using gateway = await openHubGateway(lab);
  const found = await work({ server, gateway });
  expect(gateway.problems).toEqual([]);
  return found;
}

interface Pair {
  readonly server: ConformanceServer;
  readonly gateway: Awaited<ReturnType<typeof openHubGateway>>;
}

it.each([
  ["2025-11-25", "modern"],
  ["2026-07-28", "modern"],
  ["2025-11-25", "legacy"],
] as const)(
  "meets through the hub what the conformance suite requires of a server of %s, in front of a server of the era %s",
  (revision, era) =>
    withPair(era, async ({ server, gateway }) => {
      const passed = await runSuite(gateway, revision);
      expect(requiredOf(revision).filter((scenario) => !passed.includes(scenario))).toEqual([]);
      expect(server.audited.length).toBeGreaterThan(10);
    }),
  SUITE_TIMEOUT_MS,
);

/** What a server of the older era cannot, whoever is in front of it, by the checks that fail. */
const UNABLE: Readonly<Record<string, readonly string[]>> = {
  // Its questions have no keys: the hub gives them one.
  "input-required-result-basic-elicitation": ["sep-2322-elicitation-incomplete"],
  // It asks one thing after the other.
  "input-required-result-multiple-input-requests": ["sep-2322-multiple-inputs-incomplete"],
  // It learns what the client cannot when it asks, so the refusal is its tool's answer and no error of the protocol.
  "server-stateless": ["sep-2575-server-rejects-undeclared-capability", "sep-2575-missing-capability-http-400"],
};

/**
 * Clients of the newer revision have no session, so those of one caller share an instance, and a server of the older era does not say to which call its
 * question belongs. The suite leaves calls open while they are asked something, so each scenario that fails for that gets a hub of its own. That
 * questions reach a client in that pair is tested in `hub-relay.test.ts` too.
 */
it(
  "meets through the hub what the suite requires of a server of 2026-07-28 and a server of the older era can",
  async () => {
    const revision = "2026-07-28";
    const passed = await withPair("legacy", ({ gateway }) => passedOf(gateway, revision));
    const left = requiredOf(revision).filter((scenario) => !passed.includes(scenario));
    expect(left.length, "what asks nothing passes beside the rest").toBeLessThan(15);
    const found: Record<string, readonly string[]> = {};
    for (const scenario of left) {
      const failed = await withPair("legacy", ({ gateway }) => failedChecks(gateway, revision, scenario));
      if (failed.length > 0) found[scenario] = failed;
    }
    expect(found).toEqual(UNABLE);
  },
  SUITE_TIMEOUT_MS,
);
