import { statSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";

it("keeps the native binary at 1.15 MB or less", () => {
  const { size } = statSync(join(import.meta.dirname, "../../native/build/belljar-native"));
  expect(size).toBeLessThanOrEqual(1_150_000);
});
