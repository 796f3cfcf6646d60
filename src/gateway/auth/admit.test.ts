import { expect, it } from "vitest";
import { BelljarError } from "../../errors.ts";
import { challengeHeaders } from "./admit.ts";

const METADATA = "https://belljar.example/.well-known/oauth-protected-resource";
const WITH_ISSUER = { metadataUrl: METADATA };
const WITHOUT_ISSUER = { metadataUrl: undefined };
const WHERE = `scope="belljar", resource_metadata="${METADATA}"`;

it.each([
  ["without a token", "UNAUTHORIZED", {}, `Bearer ${WHERE}`],
  ["with a wrong token", "UNAUTHORIZED", { authorization: "Bearer x" }, `Bearer error="invalid_token", ${WHERE}`],
  ["with too few scopes", "FORBIDDEN", { authorization: "Bearer x" }, `Bearer error="insufficient_scope", ${WHERE}`],
] as const)("tells a caller %s what would let them in", (_who, code, headers, challenge) => {
  const error = new BelljarError(code, "no");
  expect(challengeHeaders(error, headers, WITH_ISSUER)).toEqual({ "www-authenticate": challenge });
  expect(challengeHeaders(error, headers, WITHOUT_ISSUER)).toEqual({ "www-authenticate": "Bearer" });
  expect(challengeHeaders(error, headers, undefined)).toEqual({});
});

it("asks for nothing when something else failed", () => {
  for (const error of [new BelljarError("SERVER_UNREACHABLE", "no issuer"), new Error("x"), undefined])
    expect(challengeHeaders(error, { authorization: "Bearer x" }, WITH_ISSUER)).toEqual({});
});
