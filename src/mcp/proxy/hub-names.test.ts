import { expect, it } from "vitest";
import { hubNames, serverLabels } from "./hub-names.ts";

it.each([
  ["mcp_", "memo", ["add", "get"], ["mcp_memo_add", "mcp_memo_get"]],
  ["mcp_", "my_memo", ["a b/c"], ["mcp_my_memo_a_b_c"]],
  ["", "memo", ["add", "a/b", "x".repeat(60)], ["add", "a_b", "x".repeat(60)]],
  ["x-", "m_m", ["a-b"], ["x-m_m_a-b"]],
])("with the prefix %j names the tools of %s", (prefix, server, tools, names) => {
  expect(hubNames(prefix, server, tools)).toEqual(names);
});

it("cuts a long name to 40 characters with a hash of its own, whatever is beside it", () => {
  const [alone] = hubNames("mcp_", "memo", ["a".repeat(50)]);
  const [first, second] = hubNames("mcp_", "memo", ["a".repeat(50), "a".repeat(51)]);
  expect(alone).toMatch(/^mcp_memo_a+_[0-9a-f]{6}$/);
  expect(alone).toHaveLength(40);
  expect(first).toBe(alone);
  expect(second).not.toBe(first);
});

it("keeps names apart that differ only in what is replaced", () => {
  const names = hubNames("mcp_", "memo", ["a b", "a/b", "ab"]);
  expect(new Set(names).size).toBe(3);
  expect(names[2]).toBe("mcp_memo_ab");
  expect(names[0]).toMatch(/^mcp_memo_a_b_[0-9a-f]{6}$/);
});

it("gives no tool the name that another one's hash makes", () => {
  const [hashed = ""] = hubNames("mcp_", "memo", ["a".repeat(50)]);
  const names = hubNames("mcp_", "memo", ["a".repeat(50), hashed.slice("mcp_memo_".length)]);
  expect(names[0]).toBe(hashed);
  expect(names[1]).not.toBe(hashed);
});

it("keeps servers apart whose tools could have the same names", () => {
  const labels = serverLabels(["files", "files_private", "memo", "a.b", "a_b"]);
  expect([labels.get("files_private"), labels.get("memo")]).toEqual(["files_private", "memo"]);
  expect(labels.get("files")).toMatch(/^files_[0-9a-f]{6}$/);
  expect(new Set(labels.values()).size).toBe(5);
  const names = [["files", "private_read"] as const, ["files_private", "read"] as const].flatMap(([server, tool]) =>
    hubNames("mcp_", labels.get(server) ?? "", [tool]),
  );
  expect(new Set(names).size).toBe(2);
});
