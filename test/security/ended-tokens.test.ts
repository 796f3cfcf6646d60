import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
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
const UPGRADE = "Connection: Upgrade\r\nUpgrade: belljar-guest\r\n";

interface Connection {
  readonly socket: Socket;
  readonly closed: Promise<unknown>;
  /** Sends a request with a token, and resolves with the first bytes of what comes then. */
  ask(request: string, token: string, more?: string): Promise<string>;
}

function open({ url }: TeamLab): Connection {
  const { hostname, port } = new URL(url);
  const socket = connect({ host: hostname, port: Number(port) }).on("error", () => undefined);
  return {
    socket,
    closed: new Promise((resolve) => socket.once("close", resolve)),
    async ask(request, token, more = "") {
      const answer = once(socket, "data") as Promise<[Buffer]>;
      socket.write(`${request} HTTP/1.1\r\nHost: ${hostname}:${port}\r\nAuthorization: Bearer ${token}\r\n${more}\r\n`);
      return (await answer).toString();
    },
  };
}

/** What goes on after its request, on a connection each. Resolves once the server has answered. */
async function openStreams(team: TeamLab, token: string, sandbox?: string): Promise<readonly Connection[]> {
  const requests: readonly (readonly [string, string])[] = [
    ["GET /v1/sandboxes/events", ""],
    ["GET /sse", "Accept: text/event-stream\r\n"],
    ...(sandbox === undefined ? [] : ([[`GET /v1/sandboxes/${sandbox}/guest`, UPGRADE]] as const)),
  ];
  return Promise.all(
    requests.map(async ([request, more]) => {
      const connection = open(team);
      expect(await connection.ask(request, token, more), request).toMatch(/^HTTP\/1\.1 (101|200) /);
      return connection;
    }),
  );
}

const closed = (connections: readonly Connection[]): Promise<unknown> => Promise.all(connections.map((connection) => connection.closed));

/** A command that goes on, and its process. */
async function openCall(team: TeamLab, token: string): Promise<{ readonly connection: Connection; readonly pid: number }> {
  const note = join(team.home, "pid");
  const body = JSON.stringify({ name: "run_command", arguments: { command: `echo $$ > ${note}; exec sleep 600` } });
  const connection = open(team);
  void connection
    .ask("POST /tools/call", token, `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n`)
    .catch(() => undefined);
  connection.socket.write(body);
  await expect.poll(() => existsSync(note) && readFileSync(note, "utf8").endsWith("\n"), { timeout: LATE_MS }).toBe(true);
  return { connection, pid: Number(readFileSync(note, "utf8")) };
}

verifies(
  "tokens-end-connections",
  async () => {
    await using issuer = await openOAuthIssuer({ audience: AUDIENCE });
    let nowMs = Date.now();
    const oauth = openProtectedResource({ issuer: issuer.issuer, audience: AUDIENCE, now: () => new Date(nowMs) });
    await using team = await openTeamLab({ oauth });
    const { id: sandbox } = await team.sandboxes.create(team.alice.principal, {}, AbortSignal.timeout(LATE_MS));
    const { id, token } = await team.tokens.create("alice", []);
    const streams = [...(await openStreams(team, token, sandbox)), ...(await openStreams(team, await issuer.token()))];
    const call = await openCall(team, token);
    // A later request on its connection, with another token, keeps no stream open.
    const followed = open(team);
    await followed.ask("GET /v1/sandboxes/events", token);
    followed.socket.write(
      `GET /v1/sandboxes HTTP/1.1\r\nHost: ${new URL(team.url).host}\r\nAuthorization: Bearer ${team.alice.token}\r\n\r\n`,
    );
    const kept = [
      ...(await openStreams(team, team.alice.token, sandbox)),
      ...(await openStreams(team, await issuer.token({ exp: nowMs }))),
      open(team),
    ];
    // A proxy sends requests of several callers on one connection. Those that are answered have opened nothing.
    expect(await kept.at(-1)?.ask("HEAD /tools", token)).toMatch(/^HTTP\/1\.1 200 /);
    expect(await kept.at(-1)?.ask("GET /v1/sandboxes", token)).toContain("HTTP/1.1 200 ");
    expect(await kept.at(-1)?.ask("GET /v1/sandboxes/events", team.alice.token)).toContain("HTTP/1.1 200 ");
    await team.tokens.revoke(id);
    nowMs += 3_600_000;
    await closed([...streams, call.connection, followed]);
    await expect.poll(() => existsSync(`/proc/${call.pid}`), { timeout: LATE_MS }).toBe(false);
    // The server has looked at these in the same rounds.
    for (const { socket } of kept) expect(socket.closed).toBe(false);
    for (const { socket } of kept) socket.destroy();
  },
  2 * LATE_MS,
);
