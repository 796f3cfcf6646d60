import { once } from "node:events";
import type { Socket } from "node:net";
import { connect } from "node:net";
import { expect } from "vitest";
import { openProtectedResource } from "../../src/gateway/auth/oauth/protected-resource.ts";
import { openOAuthIssuer } from "../support/oauth-issuer.ts";
import type { TeamLab } from "../support/team-lab.ts";
import { openTeamLab } from "../support/team-lab.ts";
import { verifies } from "./verifies.ts";

const AUDIENCE = "https://belljar.example.com/mcp";
const LATE_MS = 60_000;
/** How long the server takes a token of an issuer after its end, as clocks differ. */
const SKEW_S = 30;

interface Stream {
  readonly what: string;
  readonly socket: Socket;
  readonly closed: Promise<unknown>;
}

interface Opened {
  readonly token: string;
  /** A sandbox of the token's owner, for a stream to its guest. */
  readonly sandbox?: string;
}

/** Everything that goes on after its request, opened with one token. Resolves once the server has answered each. */
async function openAll({ url }: TeamLab, { sandbox, token }: Opened): Promise<readonly Stream[]> {
  const upgrade = "Connection: Upgrade\r\nUpgrade: belljar-guest\r\n";
  const requests: readonly (readonly [string, string])[] = [
    ["GET /v1/sandboxes/events", ""],
    ["GET /sse", "Accept: text/event-stream\r\n"],
    ...(sandbox === undefined ? [] : ([[`GET /v1/sandboxes/${sandbox}/guest`, upgrade]] as const)),
  ];
  return Promise.all(
    requests.map(async ([what, headers]) => {
      const { hostname, port } = new URL(url);
      const socket = connect({ host: hostname, port: Number(port) }).on("error", () => undefined);
      const closed = once(socket, "close");
      socket.write(`${what} HTTP/1.1\r\nHost: ${hostname}:${port}\r\nAuthorization: Bearer ${token}\r\n${headers}\r\n`);
      const [answer] = (await once(socket, "data")) as [Buffer];
      socket.resume();
      expect(answer.toString(), what).toMatch(/^HTTP\/1\.1 (101|200) /);
      return { what, socket, closed };
    }),
  );
}

const ended = (streams: readonly Stream[]): Promise<unknown> => Promise.all(streams.map(({ closed }) => closed));

verifies(
  "tokens-end-connections",
  async () => {
    await using issuer = await openOAuthIssuer({ audience: AUDIENCE });
    await using team = await openTeamLab({ oauth: openProtectedResource({ issuer: issuer.issuer, audience: AUDIENCE }) });
    const { id: sandbox } = await team.sandboxes.create(team.alice.principal, {}, AbortSignal.timeout(LATE_MS));
    const { id, token } = await team.tokens.create("alice", []);
    const streams = await openAll(team, { sandbox, token });
    // The same owner's, by another token.
    const kept = await openAll(team, { sandbox, token: team.alice.token });
    await team.tokens.revoke(id);
    await ended(streams);
    const now = Math.floor(Date.now() / 1_000);
    await ended(await openAll(team, { token: await issuer.token({ iat: now - 300, exp: now + 3 - SKEW_S }) }));
    // The server has looked at these in the same rounds.
    for (const { what, socket } of kept) expect(socket.closed, what).toBe(false);
    for (const { socket } of kept) socket.destroy();
  },
  LATE_MS,
);
