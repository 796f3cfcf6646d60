import { expect, it } from "vitest";
import { judgeRequest, PolicyTable } from "./policy-table.ts";

const find = (...allow: readonly string[]) => new PolicyTable({ allow }).find("good.test", 80);

it("judges the path alone, and sends it with the query that was asked", () => {
  const allowances = find("GET http://good.test/a");
  expect(judgeRequest(allowances, { method: "GET", path: "/a/./b?x=/../y" })).toMatchObject({ path: "/a/b?x=/../y" });
  expect(judgeRequest(allowances, { method: "GET", path: "/c?x=/a" })).toBeUndefined();
});

it("sends a path as it was asked if no rule names methods or paths", () => {
  expect(judgeRequest(find("http://good.test"), { method: "PUT", path: "/a/../b?x" })).toMatchObject({ path: "/a/../b?x" });
});
