import type { Reporter, TestCase, TestModule } from "vitest/node";

/**
 * Prints each error that no test caught, each test that was skipped, with the reason, and `N passed, N failed[, N skipped]` alone on the
 * last line: CI and `scripts/test.mjs` read them. A file that cannot be loaded is a failure.
 */
export default class ClosingLineReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], unhandled: readonly { readonly message?: unknown }[]): void {
    const tests = modules.flatMap((module) => [...module.children.allTests()]);
    const inState = (...states: readonly string[]) => tests.filter((test) => states.includes(test.result().state));
    const failed = inState("failed").length + modules.filter((module) => module.errors().length > 0).length + unhandled.length;
    const skipped = inState("skipped", "pending");
    const lines = [`${inState("passed").length} passed, ${failed} failed`, ...(skipped.length > 0 ? [`${skipped.length} skipped`] : [])];
    const uncaught = unhandled.map(
      ({ message = "an error without a message" }) => `\nuncaught: ${String(message).replaceAll(/\s+/g, " ").slice(0, 300)}`,
    );
    process.stdout.write(`${[...uncaught, ...skipped.map(describeSkip)].join("")}\n${lines.join(", ")}\n`);
  }
}

/** The reason stands in the title, or was given by the test. */
function describeSkip(test: TestCase): string {
  const result = test.result();
  const note = result.state === "skipped" && result.note ? `: ${result.note}` : "";
  return `\nskipped: ${test.module.relativeModuleId} > ${test.fullName}${note}`;
}
