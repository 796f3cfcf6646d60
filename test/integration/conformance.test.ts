import { expect, it } from "vitest";
import { openConformanceServer } from "../support/conformance/conformance-server.ts";
import { requiredOf, runSuite, SUITE_TIMEOUT_MS } from "../support/conformance/run-suite.ts";

it.each(["2025-11-25", "2026-07-28"])(
  "meets what the conformance suite requires of a server of %s",
  async (revision) => {
    await using server = await openConformanceServer();
    const passed = await runSuite(server, revision);
    const required = requiredOf(revision);
    expect(required.length).toBeGreaterThan(25);
    expect(required.filter((scenario) => !passed.includes(scenario))).toEqual([]);
    // A few requests of the suite are made without fetch, and so without the token.
    expect(server.audited.filter(({ principal }) => principal === server.caller).length).toBeGreaterThan(10);
  },
  SUITE_TIMEOUT_MS,
);
