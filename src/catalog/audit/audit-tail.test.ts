import { expect, it } from "vitest";
import { openAuditHome } from "../../../test/support/audit-home.ts";
import { followAudit, readAuditTail } from "./audit-tail.ts";

const call = (tool: string) => ({ requestId: "r", principal: "local", tool, arguments: {}, outcome: "ok", resultBytes: 2, durationMs: 1 });

function toolsOf(lines: readonly { readonly text: string }[]): readonly string[] {
  return lines.map(({ text }) => (JSON.parse(text) as { tool: string }).tool);
}

it("merges the ends of all segments by their time", async () => {
  await using folder = await openAuditHome();
  let second = 0;
  const now = () => new Date((second += 1000));
  await using one = folder.open({ now });
  await using other = folder.open({ now });
  one.record(call("a"));
  other.record(call("b"));
  one.record(call("c"));
  await Promise.all([one.close(), other.close()]);
  expect(toolsOf(await readAuditTail(folder.segments, 2))).toEqual(["b", "c"]);
  expect(toolsOf(await readAuditTail(folder.segments, 10))).toEqual(["a", "b", "c"]);
});

it("is empty where nothing was ever recorded", async () => {
  await using folder = await openAuditHome();
  expect(await readAuditTail(folder.segments, 2)).toEqual([]);
});

it("follows segments that are there and that come", async () => {
  await using folder = await openAuditHome();
  await using one = folder.open();
  one.record(call("before"));
  await one.close();
  const stop = new AbortController();
  const lines = followAudit(folder.segments, stop.signal);
  const first = lines.next();
  one.record(call("a"));
  await one.close();
  await using other = folder.open();
  other.record(call("b"));
  await other.close();
  const seen = [(await first).value, (await lines.next()).value].map((line) => line as { readonly text: string });
  expect(toolsOf(seen).toSorted()).toEqual(["a", "b"]);
  stop.abort();
  expect(await lines.next()).toMatchObject({ done: true });
});
