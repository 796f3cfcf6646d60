import { UnsecuredJWT } from "jose";
import { describe, expect, it } from "vitest";
import { grantsOfScopes } from "./oauth-scopes.ts";
import { openProtectedResource } from "./protected-resource.ts";

const ISSUER = "https://issuer.example";
const AUDIENCE = "https://belljar.example/mcp";
const invalid = expect.objectContaining({ code: "CONFIG_INVALID" }) as Error;

const tokenOf = (issuer: string) => new UnsecuredJWT({}).setIssuer(issuer).encode();

describe("a protected resource", () => {
  it("tells clients where to get a token, and what it may be for", () => {
    expect(openProtectedResource({ issuer: ISSUER, audience: AUDIENCE })).toMatchObject({
      metadata: {
        resource: AUDIENCE,
        authorization_servers: [ISSUER],
        scopes_supported: ["belljar", "belljar:read-only", "belljar:workspaces"],
        bearer_methods_supported: ["header"],
        resource_name: "Belljar",
      },
      metadataUrl: "https://belljar.example/.well-known/oauth-protected-resource/mcp",
    });
  });

  it.each([
    ["https://a.example", "https://a.example/.well-known/oauth-protected-resource"],
    ["https://a.example/", "https://a.example/.well-known/oauth-protected-resource"],
    ["http://localhost:1/a/b/", "http://localhost:1/.well-known/oauth-protected-resource/a/b"],
  ])("at %s is described at %s", (resource, metadataUrl) => {
    const opened = openProtectedResource({ issuer: ISSUER, audience: "some name", resource });
    expect([opened.metadataUrl, opened.metadata["resource"]]).toEqual([metadataUrl, resource]);
  });

  it.each(["some name", "ftp://a.example", "https://", "x https://a.example"])("is at no address %j", (audience) => {
    expect(() => openProtectedResource({ issuer: ISSUER, audience })).toThrow(invalid);
  });

  it("knows its issuer's tokens, good or not", () => {
    const resource = openProtectedResource({ issuer: ISSUER, audience: AUDIENCE });
    expect([tokenOf(ISSUER), tokenOf("https://other.example"), "belljar_x", ""].map((token) => resource.isOurs(token))).toEqual([
      true,
      false,
      false,
      false,
    ]);
  });
});

describe("the scopes of an access token", () => {
  it("let in and narrow if they are Belljar's", () => {
    expect(grantsOfScopes(["belljar"])).toEqual(grantsOfScopes(["openid", "belljar", "workspaces"]));
    expect(grantsOfScopes(["belljar"])).not.toHaveProperty("readOnly");
    expect(grantsOfScopes(["belljar:read-only"])).toMatchObject({ readOnly: true });
    expect(grantsOfScopes(["belljar", "belljar:read-only"])).toMatchObject({ readOnly: true });
    expect(grantsOfScopes(["belljar:workspaces"])?.workspaces).toEqual([{ path: "/", mode: "rw" }]);
  });

  it("are none if they are for something else", () => {
    for (const scopes of [[], ["openid"], ["belljarx"], ["workspaces", "read-only"]]) expect(grantsOfScopes(scopes)).toBeUndefined();
  });

  it("are refused if they are Belljar's and unknown", () => {
    expect(() => grantsOfScopes(["belljar", "belljar:everything"])).toThrow(expect.objectContaining({ code: "ARGUMENTS_INVALID" }));
  });
});
