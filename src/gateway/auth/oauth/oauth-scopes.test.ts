import { expect, it } from "vitest";
import { grantsOfScopes, OFFERED_SCOPES } from "./oauth-scopes.ts";

it("lets in whoever has a scope of Belljar's, and grants nothing by the scopes of others", () => {
  expect(grantsOfScopes(["openid", "belljar", "workspaces", "read-only"])).toEqual({});
  expect(grantsOfScopes(["belljar:read-only"])).toEqual({ readOnly: true });
  expect(grantsOfScopes(["belljar:toolset:files", "belljar", "toolset:shell"])).toEqual({ toolsets: ["files"] });
});

it("grants nothing to whoever has none", () => {
  for (const scopes of [[], ["openid"], ["belljars"], ["x:belljar"], ["workspaces"], [""]]) expect(grantsOfScopes(scopes)).toBeUndefined();
});

it("refuses a scope of Belljar's that there is not", () => {
  for (const scope of ["belljar:", "belljar:readonly", "belljar:belljar", "belljar:sandboxes:many"])
    expect(() => grantsOfScopes(["belljar", scope]), scope).toThrow(expect.objectContaining({ code: "ARGUMENTS_INVALID" }));
});

it("offers scopes that it takes", () => {
  expect(OFFERED_SCOPES).toEqual(["belljar", "belljar:read-only", "belljar:workspaces"]);
  expect(grantsOfScopes(OFFERED_SCOPES)).toEqual({ readOnly: true, workspaces: [{ path: "/", mode: "rw" }] });
});
