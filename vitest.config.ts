import { existsSync } from "node:fs";
import { join } from "node:path";
import { defineConfig } from "vitest/config";
import SlowFirst from "./scripts/slow-first.ts";

/** Tests run what the build made, some in every project. */
if (!existsSync(join(import.meta.dirname, "dist/.stamps.json")))
  throw new Error("This checkout is not built yet: run `npm run setup` once");

/** Slow starts of Node come from this variable, and no child of a test needs it. */
delete process.env["NODE_EXTRA_CA_CERTS"];

const SHARED_BASES = "./test/support/share-base.ts";

/** In every test that serves: each answer of a route is as the reference describes it. */
const CHECK_ANSWERS = "test/support/check-answers.ts";

const project = (name: string, include: readonly string[], testTimeout: number) => ({
  test: {
    name,
    include: [...include],
    globalSetup: [SHARED_BASES],
    setupFiles: [CHECK_ANSWERS],
    testTimeout,
    hookTimeout: testTimeout,
    environment: "node" as const,
  },
});

/** Its files share the modules that they import, which took longer to load than the tests to run: they change nothing that others see. */
const unit = { test: { ...project("unit", ["src/**/*.test.ts"], 30_000).test, isolate: false } };

export default defineConfig({
  test: {
    projects: [
      unit,
      project("contract", ["test/contract/**/*.test.ts"], 120_000),
      project("integration", ["test/integration/**/*.test.ts"], 120_000),
      project("security", ["test/security/**/*.test.ts"], 120_000),
      project("e2e", ["test/e2e/**/*.test.ts"], 120_000),
      project("pins", ["test/pins/**/*.test.ts"], 30_000),
    ],
    reporters: ["default", "./scripts/closing-line-reporter.ts"],
    // The one line that a record of CI keeps of a failure says what was found.
    chaiConfig: { truncateThreshold: 0 },
    sequence: { sequencer: SlowFirst },
    // The suites wait for sandboxes half of their time.
    maxWorkers: 3,
  },
});
