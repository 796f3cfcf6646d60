import { defineConfig } from "vitest/config";

/** Slow starts of Node come from this variable, and no child of a test needs it. */
delete process.env["NODE_EXTRA_CA_CERTS"];

const project = (name: string, include: readonly string[], testTimeout: number) => ({
  test: { name, include: [...include], testTimeout, hookTimeout: testTimeout, environment: "node" as const },
});

export default defineConfig({
  test: {
    projects: [
      project("unit", ["src/**/*.test.ts"], 30_000),
      project("contract", ["test/contract/**/*.test.ts"], 120_000),
      project("integration", ["test/integration/**/*.test.ts"], 120_000),
      project("security", ["test/security/**/*.test.ts"], 120_000),
      project("e2e", ["test/e2e/**/*.test.ts"], 120_000),
      project("pins", ["test/pins/**/*.test.ts"], 30_000),
    ],
    reporters: ["default", "./scripts/closing-line-reporter.ts"],
    maxWorkers: 2,
  },
});
