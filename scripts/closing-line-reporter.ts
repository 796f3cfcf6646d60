import type { Reporter, TestModule } from "vitest/node";

/** Prints `N passed, N failed[, N skipped]` alone on the last line: CI and `scripts/test.mjs` read it. A file that cannot be loaded is a failure. */
export default class ClosingLineReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], unhandled: readonly unknown[]): void {
    const states = modules.flatMap((module) => [...module.children.allTests()].map((test) => test.result().state));
    const count = (state: string) => states.filter((one) => one === state).length;
    const failed = count("failed") + modules.filter((module) => module.errors().length > 0).length + unhandled.length;
    const skipped = count("skipped") + count("pending");
    process.stdout.write(`\n${count("passed")} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ""}\n`);
  }
}
