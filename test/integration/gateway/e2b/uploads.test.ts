import { request } from "node:http";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { uploadSurface } from "../../../../src/gateway/e2b/control/template-file-routes.ts";
import { createOrigin } from "../../../../src/gateway/surfaces/origin.ts";
import type { Grants } from "../../../../src/sandbox/sandbox.ts";
import { BuildArchives } from "../../../../src/template/archives/build-archives.ts";
import type { TemplatesInSteps } from "../../../../src/template/templates-in-steps.ts";

const HASH = "a".repeat(64);
const OWNER = "token:ann";
const LOOK_MS = 5_000;

beforeEach(() => vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] }));
afterEach(() => vi.useRealTimers());

/** The surface alone, of an owner with one key until that is revoked. */
async function openUploads() {
  const home = await mkdtemp(join(tmpdir(), "belljar-uploads-"));
  let taken: () => void = () => undefined;
  const archives = new (class extends BuildArchives {
    override store(ticket: string, content: AsyncIterable<Buffer>): Promise<void> {
      return super.store(
        ticket,
        tellFirst(content, () => taken()),
      );
    }
  })(home);
  let grants: readonly Grants[] = [{ surfaces: ["e2b"] }];
  let looked: () => void = () => undefined;
  const keys = {
    async of() {
      looked();
      return grants;
    },
  };
  const surface = uploadSurface({ templates: async () => ({ archives }) as unknown as TemplatesInSteps, keys, domain: undefined });
  const origin = createOrigin([{ ...surface, reach: { prefixes: ["/"] } }], {
    host: "127.0.0.1",
    verifiers: [],
    log: { error: () => undefined },
  });
  const url = await origin.listen(0);
  return {
    archives,
    revoke: () => void (grants = []),
    async send() {
      const ticket = await archives.invite(OWNER, HASH);
      const sent = request(new URL(`/template-archives/${ticket}`, url), {
        method: "PUT",
        headers: { "content-type": "application/octet-stream", "content-length": 8 },
      });
      const ended = new Promise<number | "cut" | undefined>((resolve) => {
        sent.once("response", ({ statusCode }) => resolve(statusCode)).once("error", () => resolve("cut"));
      });
      const began = new Promise<void>((resolve) => (taken = resolve));
      sent.write("half");
      expect(await Promise.race([began, ended])).toBeUndefined();
      return { sent, ended };
    },
    /** Resolves once the owner's keys were looked at again. */
    look: () => {
      const again = new Promise<void>((resolve) => (looked = resolve));
      vi.advanceTimersByTime(LOOK_MS);
      return again;
    },
    async [Symbol.asyncDispose]() {
      await origin.close(0);
      await rm(home, { recursive: true, force: true });
    },
  };
}

/** Whoever takes the first piece has used the ticket up before. */
async function* tellFirst(content: AsyncIterable<Buffer>, tell: () => void): AsyncGenerator<Buffer> {
  for await (const chunk of content) {
    tell();
    yield chunk;
  }
}

it("goes on while its owner has a key, however long it lasts", async () => {
  await using lab = await openUploads();
  const { sent, ended } = await lab.send();
  expect(await Promise.race([lab.look(), ended])).toBeUndefined();
  sent.end("half");
  expect(await ended).toBe(200);
  expect(await lab.archives.find(OWNER, HASH)).toBeDefined();
});

it("is cut once its owner has no key any more", async () => {
  await using lab = await openUploads();
  const { ended } = await lab.send();
  lab.revoke();
  await lab.look();
  expect(await ended).toBe("cut");
  expect(await lab.archives.find(OWNER, HASH)).toBeUndefined();
});
