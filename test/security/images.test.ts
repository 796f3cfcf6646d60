import { createHash } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Readable } from "node:stream";
import { Worker } from "node:worker_threads";
import { gunzipSync, gzipSync } from "node:zlib";
import { expect } from "vitest";
import { openImageLayout } from "../../src/template/oci/image-layout.ts";
import type { OciImage } from "../../src/template/oci/oci-image.ts";
import { parseReference } from "../../src/template/oci/registry/reference.ts";
import { openRegistryImage, type OpenRegistryOptions } from "../../src/template/oci/registry/registry-image.ts";
import { decompressZstd } from "../../src/template/oci/zstd.ts";
import { addImage, BlobStore, collect, ENDLESS_ZSTD, OCI, tarOf, writeLayout } from "../support/image-maker.ts";
import {
  BASIC,
  BLOB_HOST,
  openRegistryLab,
  REGISTRY_HOST,
  type RegistryLab,
  STRANGER_HOST,
  TOKEN_HOST,
  USER,
} from "../support/registry-lab.ts";
import { outside } from "./support/outside.ts";
import { verifies } from "./verifies.ts";

const SIGNAL = AbortSignal.timeout(60_000);
const PLAIN = tarOf({ "a.txt": "a" });

async function pull(lab: RegistryLab, options: Partial<OpenRegistryOptions>): Promise<OciImage> {
  return openRegistryImage(
    parseReference(`${REGISTRY_HOST}:${lab.port}/app`),
    { egress: lab.egress(), credential: USER, ...options },
    SIGNAL,
  );
}

function read(image: OciImage): Promise<readonly Buffer[]> {
  return Promise.all(image.layers.map((layer) => collect(layer.open({ maxBytes: 1_000_000 }, SIGNAL))));
}

/** curl, which resolves the lab's names to this machine and believes its certificates. */
function curl(lab: RegistryLab, ...args: readonly string[]): ReturnType<typeof outside> {
  const names = [REGISTRY_HOST, TOKEN_HOST, BLOB_HOST, STRANGER_HOST].flatMap((host) => ["--resolve", `${host}:${lab.port}:127.0.0.1`]);
  return outside(["curl", "-sSk", "-m", "20", "--noproxy", "*", ...names, ...args]);
}

verifies("registry-password-stays", async () => {
  const store = new BlobStore();
  const manifest = addImage(store, { layers: [{ plain: PLAIN }] });
  const tags = { latest: manifest };
  // A client that follows redirects with its password, as told, gives it to the stranger.
  await using trap = await openRegistryLab((lab) => ({
    store,
    tags,
    answer: ({ host }, response) => {
      if (host === STRANGER_HOST) response.end("thanks");
      else response.writeHead(307, { location: lab.url(STRANGER_HOST) }).end();
      return true;
    },
  }));
  await curl(trap, "-L", "--location-trusted", "-u", `${USER.user}:${USER.password}`, `${trap.url(REGISTRY_HOST)}/v2/`);
  expect(trap.asked.at(-1)).toMatchObject({ host: STRANGER_HOST, authorization: BASIC });
  const realms = (lab: RegistryLab): readonly string[] => [
    `${lab.url(STRANGER_HOST)}/token`,
    `https://${REGISTRY_HOST}:9/token`,
    `http://${TOKEN_HOST}:${lab.port}/token`,
    `https://${REGISTRY_HOST}@${STRANGER_HOST}:${lab.port}/token`,
    `${lab.url(`${REGISTRY_HOST}.${STRANGER_HOST}`)}/token`,
  ];
  for (const index of realms(trap).keys()) {
    await using lab = await openRegistryLab((opened) => ({ store, tags, realm: realms(opened)[index] ?? "" }));
    const error: unknown = await pull(lab, {}).catch((reason: unknown) => reason);
    expect(error).toMatchObject({ code: "REGISTRY_DENIED" });
    expect(JSON.stringify([error, String(error)])).not.toContain(USER.password);
    expect(lab.asked.map(({ host, authorization }) => [host, authorization])).toEqual([[REGISTRY_HOST, undefined]]);
  }
  for (const status of [301, 302, 303, 307, 308]) {
    await using lab = await openRegistryLab((opened) => ({
      store,
      tags,
      realm: "basic",
      answer: ({ host, path, authorization }, response) => {
        const isRedirected = host === REGISTRY_HOST && path.includes("/blobs/") && authorization !== undefined;
        if (isRedirected) response.writeHead(status, { location: `${opened.url(STRANGER_HOST)}${path}` }).end();
        if (host === STRANGER_HOST) response.writeHead(401, { "www-authenticate": 'Basic realm="x"' }).end();
        return isRedirected || host === STRANGER_HOST;
      },
    }));
    await expect(pull(lab, {})).rejects.toMatchObject({ code: "REGISTRY_DENIED" });
    const there = lab.asked.filter(({ host }) => host === STRANGER_HOST);
    expect(there.map(({ authorization }) => authorization)).toEqual([undefined]);
  }
});

verifies("registry-policy-holds", async () => {
  const store = new BlobStore();
  const tags = { latest: addImage(store, { layers: [{ plain: PLAIN }] }) };
  const open = (where: (lab: RegistryLab) => string, kind: "blobsAt" | "realm"): Promise<RegistryLab> =>
    openRegistryLab((lab) => ({ store, tags, [kind]: where(lab) }));
  await using trap = await open((lab) => lab.url("localhost"), "blobsAt");
  await curl(trap, "-L", `${trap.url(REGISTRY_HOST)}/v2/app/blobs/${tags.latest.digest}`);
  expect(trap.asked.map(({ host }) => host)).toEqual([REGISTRY_HOST, "localhost"]);
  const places: readonly ((lab: RegistryLab) => string)[] = [
    (lab) => `https://127.0.0.1:${lab.port}`,
    (lab) => `https://[::ffff:127.0.0.1]:${lab.port}`,
    (lab) => `https://2130706433:${lab.port}`,
    (lab) => `https://localhost:${lab.port}`,
    () => "https://169.254.169.254",
    (lab) => lab.url(STRANGER_HOST),
    (lab) => `http://${BLOB_HOST}:${lab.port}`,
  ];
  for (const place of places)
    for (const kind of ["blobsAt", "realm"] as const) {
      await using lab = await open(place, kind);
      const egress = lab.egress(lab.rules(REGISTRY_HOST, BLOB_HOST));
      await expect(pull(lab, { egress, credential: undefined })).rejects.toMatchObject({
        code: expect.stringMatching(/^(?:NETWORK_DENIED|REGISTRY_DENIED)$/),
      });
      expect(new Set(lab.asked.map(({ host }) => host))).toEqual(new Set([REGISTRY_HOST]));
    }
  // With its rule the same redirect is followed.
  await using lab = await open((opened) => opened.url(BLOB_HOST), "blobsAt");
  await using image = await pull(lab, { egress: lab.egress(lab.rules(REGISTRY_HOST, BLOB_HOST)) });
  expect(await read(image)).toEqual([PLAIN]);
});

verifies("image-layers-take-bounded-time", async () => {
  const program = `new (require("fzstd").Decompress)(() => {}).push(require("node:worker_threads").workerData, true)`;
  const alone = new Worker(program, { eval: true, workerData: ENDLESS_ZSTD });
  let isOver = false;
  alone.once("exit", () => (isOver = true));
  let turns = 0;
  const turn = setInterval(() => (turns += 1), 10);
  const decoded = collect(decompressZstd(Readable.from([ENDLESS_ZSTD]), { freeMs: 1_000, bytesPerMs: 1_000 }));
  await expect(decoded).rejects.toMatchObject({ code: "IMAGE_INVALID" });
  expect({ isOver, isHeldUp: turns < 10 }).toEqual({ isOver: false, isHeldUp: false });
  clearInterval(turn);
  await alone.terminate();
});

verifies("image-lies-refused", async () => {
  const bomb = gzipSync(Buffer.alloc(20_000_000));
  expect(gunzipSync(bomb)).toHaveLength(20_000_000);
  const other = gzipSync(tarOf({ "evil.txt": "x" }));
  const swap = async (stored: Buffer, claim: object): Promise<void> => {
    const store = new BlobStore();
    const truth = {
      mediaType: OCI.gzip,
      digest: `sha256:${createHash("sha256").update(stored).digest("hex")}`,
      size: stored.length,
      ...claim,
    };
    const manifest = addImage(store, { layers: [{ plain: PLAIN }], manifest: { layers: [truth] } });
    await using folder = await writeLayout(store, [manifest]);
    await writeFile(join(folder.path, "blobs", truth.digest.replace(":", "/")), stored);
    await using image = await openImageLayout(folder.path, {}, SIGNAL);
    let seen = 0;
    const drain = async (): Promise<void> => {
      for await (const chunk of image.layers[0]?.open({ maxBytes: 1_000_000 }, SIGNAL) ?? []) seen += chunk.length;
    };
    await expect(drain()).rejects.toMatchObject({ code: expect.stringMatching(/^IMAGE_(?:INVALID|TOO_LARGE)$/) });
    expect(seen).toBeLessThanOrEqual(1_000_000);
  };
  await swap(bomb, {});
  await swap(other, {});
  await swap(other, { digest: `sha256:${"0".repeat(64)}` });
  await swap(gzipSync(PLAIN), { size: 5 });
  await swap(gzipSync(PLAIN), { size: 50_000 });
});
