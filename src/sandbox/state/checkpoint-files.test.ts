import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { CheckpointFiles } from "./checkpoint-files.ts";

it("begins another line with each point that is set, even the same", async () => {
  const folder = await mkdtemp(join(tmpdir(), "belljar-checkpoints-"));
  try {
    const files = new CheckpointFiles(
      () => folder,
      (problem) => expect.unreachable(problem),
    );
    expect(await files.head("a")).toEqual({ line: 0 });
    for (const line of [1, 2]) {
      await files.setHead("a", "point");
      expect(await files.head("a")).toEqual({ point: "point", line });
    }
  } finally {
    await rm(folder, { recursive: true });
  }
});
