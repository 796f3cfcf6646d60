import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { exportJWK, generateKeyPair, SignJWT } from "jose";
import type { CryptoKey, JWTPayload } from "jose";

/** An OAuth issuer on loopback: its metadata, its keys, and access tokens as it signs them. */
export interface OAuthIssuer extends AsyncDisposable {
  readonly issuer: string;
  /** Paths that were asked for. */
  readonly asked: readonly string[];
  /** A good token for the audience, but for what is given; `undefined` leaves a claim out. */
  token(claims?: JWTPayload, header?: Readonly<Record<string, unknown>>): Promise<string>;
  /** From now on there is one other key, and tokens are signed with that. */
  rotate(): Promise<void>;
  /** Answers every question with 500 until it is called with false. */
  fail(isFailing: boolean): void;
}

export interface OAuthIssuerOptions {
  readonly audience: string;
  /** What the metadata says instead of its own name. */
  readonly claimsToBe?: string;
  /** Of the issuer's address, as `/realms/team`. */
  readonly path?: string;
  /** The path of the metadata, if it is not that of RFC 8414. */
  readonly metadataAt?: string;
}

const ALGORITHM = "ES256";

export async function openOAuthIssuer({
  audience,
  claimsToBe,
  path = "",
  metadataAt = `/.well-known/oauth-authorization-server${path}`,
}: OAuthIssuerOptions): Promise<OAuthIssuer> {
  let failing = false;
  let kid = 0;
  let key: { readonly publicKey: CryptoKey; readonly privateKey: CryptoKey };
  const rotate = async (): Promise<void> => {
    kid += 1;
    key = await generateKeyPair(ALGORITHM, { extractable: true });
  };
  await rotate();
  const asked: string[] = [];
  const server = createServer((request, response) => {
    const answer = async (): Promise<unknown> => {
      asked.push(request.url ?? "");
      if (request.url === "/keys") return { keys: [{ ...(await exportJWK(key.publicKey)), kid: String(kid), alg: ALGORITHM, use: "sig" }] };
      if (request.url === metadataAt) {
        return { issuer: claimsToBe ?? origin() + path, jwks_uri: `${origin()}/keys` };
      }
      return undefined;
    };
    const respond = async (): Promise<void> => {
      const body = await answer();
      response.writeHead(failing ? 500 : body === undefined ? 404 : 200, { "content-type": "application/json" });
      response.end(JSON.stringify(body ?? {}));
    };
    void respond();
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const origin = (): string => `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    issuer: origin() + path,
    asked,
    rotate,
    fail: (isFailing) => void (failing = isFailing),
    token(claims = {}, header = {}) {
      const now = Math.floor(Date.now() / 1_000);
      const good = { iss: origin() + path, aud: audience, sub: "alice", scope: "belljar", iat: now, exp: now + 300 };
      return new SignJWT({ ...good, ...claims })
        .setProtectedHeader({ alg: ALGORITHM, kid: String(kid), typ: "at+jwt", ...header })
        .sign(key.privateKey);
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}
