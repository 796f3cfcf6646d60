import type { ServerContext } from "@modelcontextprotocol/server";
import { expect, it } from "vitest";
import { createProgress } from "./progress.ts";

/** A request whose notices are taken one turn after the other. */
function open(meta: object) {
  const sent: unknown[] = [];
  const notify = async ({ params }: { params: unknown }): Promise<void> => void sent.push(params);
  return { sent, progress: createProgress({ mcpReq: { _meta: meta, notify } } as unknown as ServerContext) };
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

it("sends numbers that grow, with what the tool says of them", async () => {
  const { sent, progress } = open({ progressToken: "t" });
  for (const number of [1, 1, 0.5, Number.NaN, 2]) {
    progress?.report({ progress: number, ...(number === 2 && { total: 3, message: "nearly" }) });
    await turn();
  }
  expect(sent).toEqual([
    { progressToken: "t", progress: 1 },
    { progressToken: "t", progress: 2, total: 3, message: "nearly" },
  ]);
});

it("sends nothing after the end, and nothing to a client that did not ask", async () => {
  const { sent, progress } = open({ progressToken: 0 });
  progress?.end();
  progress?.report({ progress: 1 });
  await turn();
  expect(sent).toEqual([]);
  expect(open({}).progress).toBeUndefined();
});
