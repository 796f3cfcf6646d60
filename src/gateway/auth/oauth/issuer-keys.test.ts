import { errors, jwtVerify } from "jose";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { OAuthIssuer, OAuthIssuerOptions } from "../../../../test/support/oauth-issuer.ts";
import { openOAuthIssuer } from "../../../../test/support/oauth-issuer.ts";
import { assertKeysPlace, assertPrivate, createIssuerKeys } from "./issuer-keys.ts";

const ISSUER = "https://issuer.example/tenant";

it.each([
  ["https://issuer.example/keys", ISSUER],
  ["https://keys.example/", ISSUER],
  ["https://93.184.215.14/keys", ISSUER],
  ["http://127.0.0.1:1/keys", "http://localhost:2"],
  ["http://localhost:1/keys", "http://127.0.0.1:2"],
  ["https://10.0.0.1/keys", "https://10.0.0.1"],
  ["https://10.0.0.2/keys", "https://a.localhost"],
])("fetches keys from %s for the issuer %s", (address, issuer) => {
  expect(assertKeysPlace(new URL(address), new URL(issuer)).href).toBe(new URL(address).href);
});

it.each([
  ["https://localhost/keys", ISSUER],
  ["https://a.localhost/keys", ISSUER],
  ["https://127.0.0.1/keys", ISSUER],
  ["https://169.254.169.254/keys", ISSUER],
  ["https://[::1]/keys", ISSUER],
  ["https://[fd00::1]/keys", ISSUER],
  ["http://issuer.example/keys", ISSUER],
  ["http://keys.example/keys", ISSUER],
  ["file:///etc/keys", ISSUER],
])("fetches no keys from %s for the issuer %s", (address, issuer) => {
  expect(() => assertKeysPlace(new URL(address), new URL(issuer))).toThrow(expect.objectContaining({ code: "SERVER_UNREACHABLE" }));
});

it.each(["https://keys.example", "http://localhost:1", "http://127.0.0.1", "http://127.1.2.3", "http://[::1]:3"])(
  "asks %s for keys",
  (address) => {
    expect(assertPrivate(new URL(address)).href).toBe(new URL(address).href);
  },
);

it.each(["http://keys.example", "http://localhost.example", "http://128.0.0.1", "http://[::2]", "ftp://localhost"])(
  "asks %s for no keys, for others could answer",
  (address) => {
    expect(() => assertPrivate(new URL(address))).toThrow(expect.objectContaining({ code: "CONFIG_INVALID" }));
  },
);

interface KeysLab extends AsyncDisposable {
  readonly issuer: OAuthIssuer;
  /** Checks a token of the issuer, and rejects when that cannot be done. */
  check(token: string): Promise<"good" | "bad">;
}

async function openKeys(
  options: Partial<OAuthIssuerOptions> & { readonly cooldownMs?: number; readonly hasUri?: boolean } = {},
): Promise<KeysLab> {
  const { cooldownMs, hasUri, ...more } = options;
  const issuer = await openOAuthIssuer({ audience: "belljar", ...more });
  const keys = createIssuerKeys({
    issuer: new URL(issuer.issuer),
    ...(cooldownMs !== undefined && { cooldownMs }),
    ...(hasUri && { jwksUri: new URL("/keys", issuer.issuer) }),
  });
  return {
    issuer,
    check: (token) =>
      jwtVerify(token, keys).then(
        () => "good" as const,
        (cause: unknown) => {
          if (cause instanceof errors.JWKSNoMatchingKey || cause instanceof errors.JWSSignatureVerificationFailed) return "bad" as const;
          throw cause;
        },
      ),
    [Symbol.asyncDispose]: () => issuer[Symbol.asyncDispose](),
  };
}

const METADATA = "/.well-known/oauth-authorization-server";
const OPENID = "/.well-known/openid-configuration";

describe("the keys of an issuer", () => {
  it("are found by its metadata, once", async () => {
    await using lab = await openKeys();
    const token = await lab.issuer.token();
    expect(await Promise.all([lab.check(token), lab.check(token)])).toEqual(["good", "good"]);
    expect(await lab.check(token)).toBe("good");
    expect(lab.issuer.asked).toEqual([METADATA, "/keys"]);
  });

  it.each([
    [`${METADATA}/realms/team`, [`${METADATA}/realms/team`]],
    [`${OPENID}/realms/team`, [`${METADATA}/realms/team`, `${OPENID}/realms/team`]],
    [`/realms/team${OPENID}`, [`${METADATA}/realms/team`, `${OPENID}/realms/team`, `/realms/team${OPENID}`]],
  ])("are found by metadata at %s", async (metadataAt, asked) => {
    await using lab = await openKeys({ path: "/realms/team", metadataAt });
    expect(await lab.check(await lab.issuer.token())).toBe("good");
    expect(lab.issuer.asked).toEqual([...asked, "/keys"]);
  });

  it("are looked for at each place once", async () => {
    await using lab = await openKeys({ metadataAt: "/elsewhere" });
    await expect(lab.check(await lab.issuer.token())).rejects.toMatchObject({ code: "SERVER_UNREACHABLE" });
    expect(lab.issuer.asked).toEqual([METADATA, OPENID]);
  });

  it("are where the configuration says, and the metadata is not asked for", async () => {
    await using lab = await openKeys({ hasUri: true });
    expect(await lab.check(await lab.issuer.token())).toBe("good");
    expect(lab.issuer.asked).toEqual(["/keys"]);
  });

  it.each(["https://evil.example", "no URL"])("are not those of metadata that names %s", async (claimsToBe) => {
    await using lab = await openKeys({ claimsToBe });
    await expect(lab.check(await lab.issuer.token())).rejects.toMatchObject({ code: "SERVER_UNREACHABLE" });
    expect(lab.issuer.asked).not.toContain("/keys");
  });

  it("are fetched anew for a key that nobody knows, and the old ones are forgotten", async () => {
    await using lab = await openKeys({ cooldownMs: 0 });
    const before = await lab.issuer.token();
    expect(await lab.check(before)).toBe("good");
    await lab.issuer.rotate();
    expect(await lab.check(await lab.issuer.token())).toBe("good");
    expect(await lab.check(before)).toBe("bad");
  });

  it("are not fetched for each key that nobody knows", async () => {
    await using lab = await openKeys();
    expect(await lab.check(await lab.issuer.token())).toBe("good");
    for (const kid of ["a", "b", "c"]) expect(await lab.check(await lab.issuer.token({}, { kid }))).toBe("bad");
    expect(lab.issuer.asked).toEqual([METADATA, "/keys"]);
  });
});

describe("an issuer that does not answer", () => {
  beforeEach(() => vi.useFakeTimers({ toFake: ["performance"] }));
  afterEach(() => vi.useRealTimers());

  it("is asked for its metadata again after thirty seconds, and not before", async () => {
    await using lab = await openKeys();
    const token = await lab.issuer.token();
    lab.issuer.fail(true);
    await expect(lab.check(token)).rejects.toMatchObject({ code: "SERVER_UNREACHABLE" });
    lab.issuer.fail(false);
    const asked = lab.issuer.asked.length;
    vi.advanceTimersByTime(29_999);
    await expect(lab.check(token)).rejects.toMatchObject({ code: "SERVER_UNREACHABLE" });
    expect(lab.issuer.asked).toHaveLength(asked);
    vi.advanceTimersByTime(1);
    expect(await lab.check(token)).toBe("good");
  });

  it("is asked for its keys again after thirty seconds, and not before", async () => {
    await using lab = await openKeys({ hasUri: true });
    const token = await lab.issuer.token();
    lab.issuer.fail(true);
    await expect(lab.check(token)).rejects.toMatchObject({ code: "SERVER_UNREACHABLE" });
    lab.issuer.fail(false);
    vi.advanceTimersByTime(29_999);
    await expect(lab.check(token)).rejects.toMatchObject({ code: "SERVER_UNREACHABLE" });
    expect(lab.issuer.asked).toEqual(["/keys"]);
    vi.advanceTimersByTime(1);
    expect(await lab.check(token)).toBe("good");
  });
});
