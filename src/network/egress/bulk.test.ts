import { createHash, randomBytes } from "node:crypto";
import { createServer, type RequestListener } from "node:http";
import type { Socket } from "node:net";
import { describe, expect, it } from "vitest";
import { converse, type EgressLab, openConnect, openEgressLab, openOrigin, readUntil } from "../../../test/support/egress-lab.ts";

const BODY = randomBytes(12_582_912);
const HOST = "good.test";
const request = (authority: string, method = "GET"): string =>
  `${method} http://${authority}/ HTTP/1.1\r\nHost: ${authority}\r\nConnection: close\r\n\r\n`;

interface Stage {
  readonly lab: EgressLab;
  readonly authority: string;
}

async function withOrigin(listener: RequestListener, play: (stage: Stage) => Promise<void>): Promise<void> {
  await using origin = await openOrigin(createServer(listener));
  const authority = `${HOST}:${origin.port}`;
  await using lab = await openEgressLab({ policy: { allow: [authority] }, names: { [HOST]: ["127.0.0.1"] } });
  await play({ lab, authority });
}

/** Reads the rest of the stream, and returns its digest and its length. */
async function digest(socket: Socket): Promise<{ readonly sha256: string; readonly length: number }> {
  const hash = createHash("sha256");
  let length = 0;
  for await (const chunk of socket) {
    hash.update(chunk as Buffer);
    length += (chunk as Buffer).length;
  }
  return { sha256: hash.digest("hex"), length };
}

const WHOLE = { sha256: createHash("sha256").update(BODY).digest("hex"), length: BODY.length };

describe("a large download", () => {
  it("arrives complete through the proxy, even if the program reads late", async () => {
    let stalled = (): void => {};
    const isStalled = new Promise<void>((resolve) => (stalled = resolve));
    const listener: RequestListener = (_request, response) => {
      response.setHeader("content-length", BODY.length);
      if (!response.write(BODY)) stalled();
      response.end();
    };
    await withOrigin(listener, async ({ lab, authority }) => {
      const client = await lab.proxy();
      client.write(request(authority));
      await isStalled;
      await readUntil(client, "\r\n\r\n");
      expect(await digest(client)).toEqual(WHOLE);
      const row = await lab.recorded(({ verdict }) => verdict === "allowed");
      expect(row.receivedBytes).toBeGreaterThan(BODY.length);
    });
  });

  it("arrives complete through a tunnel", async () => {
    await withOrigin(
      (_request, response) => response.setHeader("content-length", BODY.length).end(BODY),
      async ({ lab, authority }) => {
        const client = await openConnect(lab, authority);
        client.write(`GET / HTTP/1.1\r\nHost: ${authority}\r\nConnection: close\r\n\r\n`);
        await readUntil(client, "\r\n\r\n");
        expect(await digest(client)).toEqual(WHOLE);
      },
    );
  });

  it("fails and is recorded if the origin breaks it off", async () => {
    const half = BODY.length / 2;
    const listener: RequestListener = (_request, response) => {
      response.setHeader("content-length", BODY.length);
      response.write(BODY.subarray(0, half), () => response.destroy());
    };
    await withOrigin(listener, async ({ lab, authority }) => {
      const client = await lab.proxy();
      client.write(request(authority));
      await readUntil(client, "\r\n\r\n");
      const came = await digest(client).catch(() => ({ length: half }));
      expect(came.length).toBeLessThanOrEqual(half);
      expect(await lab.recorded(({ verdict }) => verdict !== "allowed")).toMatchObject({ reason: "reset" });
    });
  });

  it("ends when the policy no longer allows it", async () => {
    await withOrigin(
      (_request, response) => response.setHeader("content-length", BODY.length).write(BODY.subarray(1)),
      async ({ lab, authority }) => {
        const client = await lab.proxy();
        client.write(request(authority));
        await readUntil(client, "\r\n\r\n");
        lab.update({ policy: { allow: ["other.test"] } });
        const came = await digest(client).catch(() => ({ length: 0 }));
        expect(came.length).toBeLessThan(BODY.length);
        expect(await lab.recorded(({ reason }) => reason === "policy-changed")).toMatchObject({ host: HOST });
      },
    );
  });

  it("has no body when it is asked for with HEAD", async () => {
    await withOrigin(
      (_request, response) => response.setHeader("content-length", BODY.length).end(),
      async ({ lab, authority }) => {
        expect(await converse(await lab.proxy(), request(authority, "HEAD"))).toMatch(
          new RegExp(`content-length: ${BODY.length}[^]*\\r\\n\\r\\n$`),
        );
      },
    );
  });
});
