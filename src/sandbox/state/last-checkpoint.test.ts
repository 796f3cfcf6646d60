import { expect, it } from "vitest";
import type { Sandbox } from "../sandbox.ts";
import { lastCheckpoint } from "./last-checkpoint.ts";

/** `id<parent`; one with a small letter stands before a call. */
function last(text: string, head?: string): Promise<string> {
  const checkpoints = text.split(" ").map((one) => {
    const [id = "", parent] = one.split("<");
    return { id, ...(parent !== undefined && { parent }), ...(id === id.toLowerCase() && { before: "run_command" }) };
  });
  return lastCheckpoint({ id: "x", timeLine: { list: async () => ({ checkpoints, head }) } as unknown as Sandbox["timeLine"] });
}

it.each([
  ["A B<A", "B", "B"],
  ["A b<A c<b", "c", "A"],
  ["b<snapshot c<b", "c", "snapshot"],
  ["b c<b", "c", "c"],
  ["b<c c<b", "c", "c"],
])("is the last one that somebody asked for, else that before the last call (%s)", async (line, head, expected) => {
  expect(await last(line, head)).toBe(expected);
});

it("is none where nothing was remembered", async () => {
  await expect(last("A")).rejects.toMatchObject({ code: "CHECKPOINT_NOT_FOUND" });
});
