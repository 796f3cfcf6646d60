import { describe, expect, it } from "vitest";
import type { FileChange } from "../../src/runtime/guest/guest.ts";
import { run, shareSandbox, soon, type OpenRuntime } from "./contract-sandbox.ts";

export function watchContract(open: OpenRuntime): void {
  describe("a watch", () => {
    const { guest } = shareSandbox(open);

    it("tells what is made, written and removed", async () => {
      await guest().files.makeDirectory("watched", { signal: soon() });
      const changes = await guest().files.watch("watched", { signal: soon() });
      await run(guest(), "echo x > watched/file; echo y >> watched/file; rm watched/file");
      const seen = await until(changes, (change) => change.kind === "remove" && change.path === "file");
      expect(seen.map((change) => change.kind)).toEqual(expect.arrayContaining(["create", "write", "remove"]));
      expect(new Set(seen.map((change) => change.path))).toEqual(new Set(["file"]));
    });

    it("sees below, also in folders that are new", async () => {
      await guest().files.makeDirectory("tree/old", { parents: true, signal: soon() });
      const changes = await guest().files.watch("tree", { recursive: true, signal: soon() });
      await run(guest(), "echo x > tree/old/file; mkdir -p tree/new/inner; echo y > tree/new/inner/file");
      const seen = await until(changes, (change) => change.path === "new/inner/file");
      expect(seen.map((change) => change.path)).toEqual(expect.arrayContaining(["old/file", "new", "new/inner/file"]));
    });

    it("without depth does not see below", async () => {
      await guest().files.makeDirectory("flat/inner", { parents: true, signal: soon() });
      const changes = await guest().files.watch("flat", { signal: soon() });
      await run(guest(), "echo x > flat/inner/hidden; echo y > flat/shown");
      expect((await until(changes, (change) => change.path === "shown")).map((change) => change.path)).not.toContain("inner/hidden");
    });

    it("tells a new name", async () => {
      await guest().files.write("moves/before", "", { signal: soon() });
      const changes = await guest().files.watch("moves", { signal: soon() });
      await guest().files.rename("moves/before", "moves/after", { signal: soon() });
      const seen = await until(changes, (change) => change.target === "after" || (change.kind === "create" && change.path === "after"));
      expect(seen.some((change) => change.path === "before")).toBe(true);
    });

    it("ends without an error when its caller aborts", async () => {
      await guest().files.makeDirectory("quiet", { signal: soon() });
      const controller = new AbortController();
      const changes = await guest().files.watch("quiet", { signal: controller.signal });
      const seen = until(changes, () => false);
      controller.abort();
      expect(await seen).toEqual([]);
    });

    it("of nothing is an error", async () => {
      await expect(guest().files.watch("absent", { signal: soon() })).rejects.toMatchObject({ code: "FILE_NOT_FOUND" });
    });
  });
}

async function until(changes: AsyncIterable<FileChange>, isLast: (change: FileChange) => boolean): Promise<readonly FileChange[]> {
  const seen: FileChange[] = [];
  for await (const change of changes) {
    seen.push(change);
    if (isLast(change)) break;
  }
  return seen;
}
