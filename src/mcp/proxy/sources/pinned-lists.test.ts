import { expect, it } from "vitest";
import { approvedLists, changesBetween, describeItem, digestItems, type Lists } from "./pinned-lists.ts";

const tool = (name: string, description = name) => ({ name, description, inputSchema: { type: "object", properties: { a: {}, b: {} } } });
const changes = async (pinned: Lists, last: Lists) =>
  changesBetween((await digestItems(pinned)).digests, (await digestItems(last)).digests);

it("takes the order of definitions and of keys for no change", async () => {
  const { name, description, inputSchema } = tool("a");
  const turned = { inputSchema: { properties: { b: {}, a: {} }, type: inputSchema.type }, description, name };
  expect(await changes({ tools: [tool("a"), tool("b")] }, { tools: [tool("b"), turned] })).toEqual([]);
});

it("finds what was added, changed and removed in each list, a text too", async () => {
  const pinned = { tools: [tool("a"), tool("b"), tool("__proto__")], resources: [{ uri: "x:1" }], instructions: "Be kind" };
  const last = { tools: [tool("a", "evil"), tool("c"), tool("__proto__", "x")], resources: [{ uri: "x:2" }], instructions: "Be evil" };
  expect(await changes(pinned, last)).toEqual([
    { list: "tools", name: "a", kind: "changed" },
    { list: "tools", name: "c", kind: "added" },
    { list: "tools", name: "__proto__", kind: "changed" },
    { list: "resources", name: "x:2", kind: "added" },
    { list: "instructions", name: "", kind: "changed" },
    { list: "tools", name: "b", kind: "removed" },
    { list: "resources", name: "x:1", kind: "removed" },
  ]);
});

it("tells definitions apart by what requests name them by, whatever else they say", async () => {
  const lists = (text: string): Lists => ({
    tools: [
      { ...tool("a", text), uri: "u" },
      { ...tool("b"), uri: "u" },
    ],
    prompts: [
      { name: "p", uriTemplate: "u", description: text },
      { name: "q", uriTemplate: "u" },
    ],
    resources: [
      { uri: "x:1", name: "same", description: text },
      { uri: "x:2", name: "same" },
    ],
    templates: [
      { uriTemplate: "x:{a}", uri: "u", name: "same", description: text },
      { uriTemplate: "y:{a}", uri: "u", name: "same" },
    ],
  });
  const found = await changes(lists("kind"), lists("evil"));
  expect(found.map(({ list, name, kind }) => `${kind} ${list}/${name}`)).toEqual([
    "changed tools/a",
    "changed prompts/p",
    "changed resources/x:1",
    "changed templates/x:{a}",
  ]);
});

it("shows nothing that was not approved", async () => {
  const pinned = { tools: [tool("a"), tool("b"), tool("c")], instructions: "Be kind" };
  const last = { tools: [tool("d"), tool("a", "evil"), tool("c")], instructions: "Be evil" };
  const shown = approvedLists(pinned, last, await changes(pinned, last));
  expect(shown.lists).toEqual({ tools: [tool("a"), tool("c")], instructions: "Be kind" });
  expect([...shown.blocked]).toEqual(["tools/a", "instructions/"]);
  expect(JSON.stringify(shown.lists)).not.toContain("evil");
});

it("describes a definition in lines, and a text as it is", () => {
  expect(describeItem({ tools: [tool("a")] }, { list: "tools", name: "a" })?.split("\n")[1]).toBe('  "description": "a",');
  expect(describeItem({ instructions: "Be kind" }, { list: "instructions", name: "" })).toBe("Be kind");
  expect(describeItem({}, { list: "tools", name: "a" })).toBeUndefined();
});

it.each([
  ["nested 65 levels deep", JSON.parse(`${"[".repeat(66)}${"]".repeat(66)}`) as unknown],
  ["of very many values", Array.from({ length: 10_000 }, () => 1)],
  ["of very many characters", "x".repeat(524_288)],
])("describes no definition %s", (_what, inner) => {
  const item = { ...tool("a"), inner };
  expect(describeItem({ tools: [item] }, { list: "tools", name: "a" })).toBe(
    "(This definition is too large, or nested too deep, to be shown.)",
  );
});
