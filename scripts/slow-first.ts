import { BaseSequencer, type TestSpecification } from "vitest/node";

/**
 * Files that take a minute or more. On a fresh checkout vitest knows no durations and begins with the largest files: one of these,
 * begun last, would go on alone for minutes.
 */
const SLOW = [
  "test/security/contents.test.ts",
  "test/security/contents-of-requests.test.ts",
  "test/integration/bench.test.ts",
  "test/integration/crash-runs.test.ts",
  "test/contract/namespace.test.ts",
  "test/integration/runtime/namespace/raise-crashes.test.ts",
  "test/security/silence.test.ts",
  "test/integration/state/random-kills.test.ts",
  "test/e2e/states.test.ts",
  "test/e2e/code-example.test.ts",
  "test/integration/crash.test.ts",
  "test/e2e/run.test.ts",
  "test/integration/state/state-races.test.ts",
  "test/integration/mcp/hub-conformance.test.ts",
];

/** Begins with the slow files, and leaves the others in the order that vitest finds best. */
export default class SlowFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const place = ({ moduleId }: TestSpecification): number => {
      const found = SLOW.findIndex((name) => moduleId.endsWith(`/${name}`));
      return found === -1 ? SLOW.length : found;
    };
    // oxlint-disable-next-line unicorn/no-array-sort -- a method of that name
    return (await super.sort(files)).toSorted((one, other) => place(one) - place(other));
  }
}
