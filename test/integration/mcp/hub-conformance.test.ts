import { expect, it } from "vitest";
import { LOCAL } from "../../../src/sandbox/sandbox.ts";
import { openConformanceServer } from "../../support/conformance/conformance-server.ts";
import { requiredOf, runSuite, SUITE_TIMEOUT_MS } from "../../support/conformance/run-suite.ts";
import { openHubGateway } from "../../support/hub-gateway.ts";
import { openHubLab } from "../../support/hub-lab.ts";
import { openLegacyFront } from "../../support/legacy-front.ts";

/**
 * The fourth pair is not here: a server of the older era asks one thing after the other and under no key, and refuses no client for what that cannot.
 * That its questions reach a client of the newer era is tested in `hub-relay.test.ts`.
 */
it.each([
  ["2025-11-25", "modern"],
  ["2026-07-28", "modern"],
  ["2025-11-25", "legacy"],
])(
  "meets through the hub what the conformance suite requires of a server of %s, in front of a server of the era %s",
  async (revision, era) => {
    await using server = await openConformanceServer();
    using front = era === "legacy" ? await openLegacyFront(server.url) : undefined;
    const url = front?.url ?? server.url;
    const entry = { type: "http", url: url.href, headers: { Authorization: `Bearer ${server.token}` } };
    await using lab = await openHubLab({ suite: entry }, { prefix: "", listMax: 1_000 });
    await lab.until(() => lab.names().length > 0);
    expect(lab.hub.upstreamsOf(LOCAL)).toHaveLength(1);
    await using gateway = await openHubGateway(lab);
    const passed = await runSuite(gateway, revision);
    expect(requiredOf(revision).filter((scenario) => !passed.includes(scenario))).toEqual([]);
    expect(server.audited.length).toBeGreaterThan(10);
    expect(gateway.problems).toEqual([]);
  },
  SUITE_TIMEOUT_MS,
);
