import { createHash } from "node:crypto";
import { expect } from "vitest";
import type { Principal } from "../../src/sandbox/sandbox.ts";
import { openFarServer } from "../support/far-server.ts";
import { type OAuthServerOptions, openOAuthServer } from "../support/oauth-server.ts";
import { openServersLab, type ServersLab } from "../support/servers-lab.ts";
import { verifies } from "./verifies.ts";

const principalOf = (name: string): Principal => ({ id: `token:${name}`, name, grants: {} });
const stateOf = (lab: ServersLab, name: string) => lab.servers.servers(principalOf(name))[0]?.state;

async function openPlace(options: OAuthServerOptions = {}, ...scopes: readonly string[]) {
  const far = await openOAuthServer(options);
  const lab = await openServersLab();
  const rule = `network:${far.origin.replace("http://", "")}`;
  /** Somebody with a server of that name. */
  const join = async (name: string) => {
    const token = await lab.token(name, "servers", "toolset:mcp", rule, ...scopes);
    await lab.ask("POST /v1/servers", { name: "far", url: far.url }, token);
    await lab.until(() => stateOf(lab, name) !== "starting");
    return token;
  };
  const login = (body: object, token: string) => lab.ask("POST /v1/servers/far/login", body, token);
  return { far, lab, join, login, rule, [Symbol.asyncDispose]: async () => (await lab[Symbol.asyncDispose](), far[Symbol.asyncDispose]()) };
}

/** What is one owner's is no other's, and a code is good for whoever began alone. */
verifies(
  "logins-over-http",
  async () => {
    await using place = await openPlace();
    const { far, lab, login } = place;
    const [ann, bob] = [await place.join("ann"), await place.join("bob")];
    const begun = await login({}, ann);
    const back = await far.browse(String(begun.answer["authorizationUrl"]));
    // Bob has read what Ann's browser came back with.
    expect(await login({ redirect: back.href }, bob)).toMatchObject({ status: 404 });
    await login({}, bob);
    expect(await login({ redirect: back.href }, bob)).toMatchObject({ status: 404 });
    const bare = await far.browse(String((await login({}, ann)).answer["authorizationUrl"]));
    const stolen = new URLSearchParams({
      grant_type: "authorization_code",
      code: bare.searchParams.get("code") ?? "",
      code_verifier: createHash("sha256").update("a guess").digest("base64url"),
      redirect_uri: "http://127.0.0.1:33418/callback",
    });
    expect((await fetch(`${far.origin}/token`, { method: "POST", body: stolen })).status, "a code without its verifier").toBe(400);
    const third = await far.browse(String((await login({}, ann)).answer["authorizationUrl"]));
    third.searchParams.set("state", `${third.searchParams.get("state")?.slice(1)}x`);
    expect(await login({ redirect: third.href }, ann)).toMatchObject({ status: 404 });
    const given = far.tokenRequests.length;
    const reader = await lab.token("ann", "toolset:mcp", place.rule);
    const readOnly = await lab.token("ann", "servers", "read-only", "toolset:mcp", place.rule);
    for (const token of [reader, readOnly]) expect(await login({}, token)).toMatchObject({ status: 403 });
    const last = await far.browse(String((await login({}, ann)).answer["authorizationUrl"]));
    expect(await login({ redirect: last.href }, reader)).toMatchObject({ status: 403 });
    expect(far.tokenRequests).toHaveLength(given);
    const done = await login({ redirect: last.href }, ann);
    expect(done, "whoever began it finishes it").toMatchObject({ answer: { status: "done", server: { state: "ready" } } });
    expect(stateOf(lab, "bob"), "another owner's login").toBe("needs_login");
    for (const secret of far.given) expect(JSON.stringify([begun, done, lab.servers.servers(principalOf("ann"))])).not.toContain(secret);
  },
  120_000,
);

/** A code that was given by another authorization server than the one that was asked. */
verifies(
  "logins-over-http",
  async () => {
    await using place = await openPlace({ redirect: (query) => query.set("iss", "https://evil.example") });
    const ann = await place.join("ann");
    const back = await place.far.browse(String((await place.login({}, ann)).answer["authorizationUrl"]));
    expect(await place.login({ redirect: back.href }, ann)).toMatchObject({ status: 502 });
    expect(place.far.tokenRequests).toEqual([]);
  },
  120_000,
);

/** A server that names an authorization server behind this machine's back. */
verifies(
  "servers-reached-by-policy",
  async () => {
    await using victim = await openFarServer();
    const inner = `http://127.0.0.1:${victim.port}`;
    const metadata: OAuthServerOptions["metadata"] = (plain) => ({ ...plain, registration_endpoint: `${inner}/register` });
    for (const granted of [true, false]) {
      await using place = await openPlace({ metadata }, ...(granted ? [`network:127.0.0.1:${victim.port}`] : []));
      const ann = await place.join("ann");
      const before = victim.asked.length;
      const { answer, status } = await place.login({}, ann);
      if (granted) expect(victim.asked.slice(before), "with a scope for it the place is asked").toEqual(["POST /register"]);
      else expect([victim.asked.length, status, JSON.stringify(answer)]).toEqual([before, 403, expect.stringContaining("NETWORK_DENIED")]);
    }
  },
  120_000,
);
