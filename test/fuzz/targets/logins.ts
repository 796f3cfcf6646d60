import { equal, ok } from "node:assert/strict";
import { isIP, isIPv4 } from "node:net";
import { parseJson } from "../../../src/files/parse-json.ts";
import { readChallenge } from "../../../src/mcp/client/oauth/login-place.ts";
import { currentLogin, parseRecord } from "../../../src/mcp/client/oauth/login-record.ts";
import { reachOf } from "../../../src/mcp/client/oauth/reach.ts";
import { pureTarget } from "../fuzz-target.ts";

const LOGIN = '{"client":{"client_id":"c","source":"registered"},"tokens":{"access_token":"t"},"resource":"r","authorizationServer":"a"}';

/** A file of logins: whatever lies there, a token that comes out of it can be sent as a header. */
export const loginRecords = pureTarget({
  seeds: [`{"version":1,"server":"s","issuer":"i","logins":{"i":${LOGIN}}}`],
  words: ['"logins":{', '"issuer":"__proto__"', '"__proto__":', '"tokens":{"access_token":', "\\r\\n", '"renewal":{'],
  run(input) {
    const tokens = currentLogin(parseRecord(parseJson(input.toString()), "s"))?.tokens;
    if (tokens) ok(new Headers({ authorization: `Bearer ${tokens.access_token}` }).has("authorization"));
  },
});

/** What a server says when it refuses a request. */
export const challenges = pureTarget({
  seeds: ['Bearer resource_metadata="https://h/x", scope="a b", error="insufficient_scope"', "Bearer", "DPoP error=x"],
  words: ["Bearer ", "resource_metadata=", '"', "scope=", ", ", "http://"],
  run(input) {
    let headers: Headers;
    try {
      headers = new Headers({ "www-authenticate": input.toString("latin1") });
    } catch {
      return;
    }
    for (const status of [401, 403]) {
      const { metadataUrl, wantsScope } = readChallenge(new Response(null, { status, headers }));
      ok(metadataUrl === undefined || metadataUrl instanceof URL);
      ok(!wantsScope || status === 403);
    }
  },
});

/** An address has one reach, however it is written. */
export const reaches = pureTarget({
  seeds: ["127.0.0.1", "169.254.169.254", "10.0.0.1", "::1", "fe80::1%eth0"],
  words: ["::ffff:", "64:ff9b::", "127.", "10.", "::", "%"],
  run(input) {
    const text = input.toString("latin1");
    if (isIP(text) === 0) return;
    const reach = reachOf(text);
    ok(["loopback", "private", "public", "never"].includes(reach));
    if (isIPv4(text)) equal(reachOf(`::ffff:${text}`), reach);
  },
});
