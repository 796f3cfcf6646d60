import { expect, it } from "vitest";
import { toEvents } from "./watch-events.ts";

it.each([
  [{ kind: "create", path: "a" }, ["CREATE a"]],
  [{ kind: "write", path: "d/a" }, ["WRITE d/a"]],
  [{ kind: "remove", path: "a" }, ["REMOVE a"]],
  [{ kind: "attributes", path: "" }, ["CHMOD ."]],
  [{ kind: "rename", path: "a", target: "b" }, ["RENAME a", "CREATE b"]],
  [{ kind: "create", path: "d/.belljar-12-0.tmp" }, []],
  [{ kind: "write", path: ".belljar-12-0.tmp" }, []],
  [{ kind: "rename", path: "d/.belljar-12-0.tmp", target: "d/a" }, ["CREATE d/a", "WRITE d/a"]],
  [{ kind: "create", path: ".belljar-x.tmp" }, ["CREATE .belljar-x.tmp"]],
] as const)("tells %j as %j", (change, told) => {
  expect(toEvents(change).map(({ type, name }) => `${type.replace("EVENT_TYPE_", "")} ${name}`)).toEqual(told);
});

it("fails where changes were lost", () => {
  expect(() => toEvents({ kind: "overflow", path: "" })).toThrow(expect.objectContaining({ code: "FILE_IO" }) as Error);
});
