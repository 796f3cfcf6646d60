import { expect, it } from "vitest";
import { forScheme, isConditional, judgeRequest, PolicyTable } from "./policy-table.ts";

const find = (...allow: readonly string[]) => new PolicyTable({ allow }).find("good.test", 80);

it("judges the path alone, and sends it with the query that was asked", () => {
  const allowances = find("GET http://good.test/a");
  expect(judgeRequest(allowances, { method: "GET", path: "/a/./b?x=/../y" })).toMatchObject({ path: "/a/b?x=/../y" });
  expect(judgeRequest(allowances, { method: "GET", path: "/c?x=/a" })).toBeUndefined();
});

it("sends a path as it was asked if no rule names methods or paths", () => {
  expect(judgeRequest(find("http://good.test"), { method: "PUT", path: "/a/../b?x" })).toMatchObject({ path: "/a/../b?x" });
});

it("finds the rules of a host and of the domains above it, on their ports", () => {
  const table = new PolicyTable({ allow: ["a.good.test", "*.good.test:81", "*.a.good.test:82", "b.good.test:83", "good.test:84"] });
  const rulesFor = (host: string, port: number) => table.find(host, port).map(({ rule }) => rule);
  expect([rulesFor("a.good.test", 80), rulesFor("a.good.test", 443), rulesFor("a.good.test", 81)]).toEqual([
    ["a.good.test"],
    ["a.good.test"],
    ["*.good.test:81"],
  ]);
  expect(rulesFor("b.a.good.test", 82)).toEqual(["*.a.good.test:82"]);
  expect(rulesFor("good.test", 81)).toEqual([]);
  expect(rulesFor("xgood.test", 81)).toEqual([]);
  expect([table.ports("a.good.test"), table.ports("b.a.good.test"), table.ports("good.test"), table.ports("test")]).toEqual([
    [80, 81, 443],
    [81, 82],
    [84],
    [],
  ]);
  expect([table.isAll, table.find("b.good.test", 83)[0]?.isExact, table.find("b.good.test", 81)[0]?.isExact]).toEqual([false, true, false]);
});

it("finds everything on every port with all, and nothing with none", () => {
  const [all, none] = [new PolicyTable("all"), new PolicyTable("none")];
  expect(all.find("good.test", 9)).toEqual([{ rule: "all", scheme: "any", isExact: false }]);
  expect([all.isAll, all.ports("good.test")]).toEqual([true, [80, 443, 22, 8080, 8443]]);
  expect([none.isAll, none.find("good.test", 80), none.ports("good.test")]).toEqual([false, [], []]);
});

it("keeps the rules for one scheme, and those for any", () => {
  const rulesFor = (scheme: "http" | "https") =>
    forScheme(find("http://good.test:80", "https://good.test:80", "good.test:80"), scheme).map(({ rule }) => rule);
  expect(rulesFor("http")).toEqual(["http://good.test:80", "good.test:80"]);
  expect(rulesFor("https")).toEqual(["https://good.test:80", "good.test:80"]);
});

it("judges a request by each rule with a method or a path", () => {
  const rules = find("GET http://good.test/a", "POST+PUT http://good.test", "http://good.test/c");
  expect(rules.map(isConditional)).toEqual([true, true, true]);
  const ruleOf = (method: string, path: string) => {
    const judged = judgeRequest(rules, { method, path });
    return judged && "allowance" in judged ? judged.allowance.rule : judged?.reason;
  };
  expect(ruleOf("GET", "/a/b")).toBe("GET http://good.test/a");
  expect(ruleOf("GET", "/ab")).toBeUndefined();
  expect(ruleOf("PUT", "/ab")).toBe("POST+PUT http://good.test");
  expect([ruleOf("DELETE", "/c"), ruleOf("DELETE", "/a")]).toEqual(["http://good.test/c", undefined]);
  expect(ruleOf("GET", "/a%2fb")).toBe("ambiguous-path");
  expect(isConditional(find("http://good.test")[0] ?? { rule: "", scheme: "any", isExact: false, path: "/" })).toBe(false);
});
