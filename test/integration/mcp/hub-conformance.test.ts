import { expect, it } from "vitest";
import { openConformanceServer } from "../../support/conformance/conformance-server.ts";
import { requiredOf, runSuite, SUITE_TIMEOUT_MS } from "../../support/conformance/run-suite.ts";
import { openHubGateway } from "../../support/hub-gateway.ts";
import { openHubLab } from "../../support/hub-lab.ts";

it.each(["2025-11-25", "2026-07-28"])(
  "meets through the hub what the conformance suite requires of a server of %s",
  async (revision) => {
    await using server = await openConformanceServer();
    const entry = { type: "http", url: server.url.href, headers: { Authorization: `Bearer ${server.token}` } };
    await using lab = await openHubLab({ suite: entry }, { prefix: "", listMax: 1_000 });
    await lab.until(() => lab.names().length > 0);
    await using gateway = await openHubGateway(lab);
    const passed = await runSuite(gateway, revision);
    expect(requiredOf(revision).filter((scenario) => !passed.includes(scenario))).toEqual([]);
    expect(server.audited.length).toBeGreaterThan(10);
    expect(gateway.problems).toEqual([]);
  },
  SUITE_TIMEOUT_MS,
);
