import { expect, it } from "vitest";
import { assertToolLimits } from "./assert-tool-limits.ts";

const host = (...limits: readonly string[]) => ({ isolation: async () => ({ limits }) as never });

it("takes limits that the host enforces", async () => {
  await expect(assertToolLimits(host("pids", "memoryBytes"), { pids: 5 })).resolves.toBeUndefined();
});

it("names those that it does not", async () => {
  const refused = assertToolLimits(host("pids"), { pids: 5, memoryBytes: 1, cpus: 1 });
  await expect(refused).rejects.toMatchObject({
    code: "LIMIT_UNENFORCEABLE",
    message: expect.stringContaining("enforce memoryBytes, cpus, so"),
  });
});
