import { createServer } from "node:http";
import { gzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { openOrigin } from "../../support/egress-lab.ts";
import { addImage, BlobStore, collect, OCI, tarOf } from "../../support/image-maker.ts";
import {
  type Answerer,
  BASIC,
  BLOB_HOST,
  openRegistryLab,
  REGISTRY_HOST,
  type RegistryLab,
  type RegistryLabOptions,
  STRANGER_HOST,
  TOKEN_HOST,
  USER,
} from "../../support/registry-lab.ts";
import { hostPlatform } from "../../../src/template/oci/platform.ts";
import type { OciImage } from "../../../src/template/oci/oci-image.ts";
import { parseReference } from "../../../src/template/oci/registry/reference.ts";
import { openRegistryImage, type OpenRegistryOptions } from "../../../src/template/oci/registry/registry-image.ts";

const SIGNAL = AbortSignal.timeout(30_000);
const PLAIN = tarOf({ "a.txt": "a" });

interface Made extends AsyncDisposable {
  readonly lab: RegistryLab;
  readonly digest: string;
  open(options?: Partial<OpenRegistryOptions>, tag?: string): Promise<OciImage>;
  read(options?: Partial<OpenRegistryOptions>): Promise<readonly Buffer[]>;
}

async function make(more: (lab: RegistryLab) => Partial<RegistryLabOptions> = () => ({})): Promise<Made> {
  const store = new BlobStore();
  const manifest = addImage(store, { layers: [{ plain: PLAIN }] });
  const index = store.add({ schemaVersion: 2, mediaType: OCI.index, manifests: [{ ...manifest, platform: hostPlatform() }] }, OCI.index);
  const lab = await openRegistryLab((opened) => ({ store, tags: { one: manifest, many: index }, ...more(opened) }));
  const open: Made["open"] = (options, tag = ":many") =>
    openRegistryImage(parseReference(`${REGISTRY_HOST}:${lab.port}/team/app${tag}`), { egress: lab.egress(), ...options }, SIGNAL);
  return {
    lab,
    digest: manifest.digest,
    open,
    async read(options) {
      await using image = await open(options);
      return await Promise.all(image.layers.map((layer) => collect(layer.open({ maxBytes: 1_000_000 }, SIGNAL))));
    },
    [Symbol.asyncDispose]: () => lab[Symbol.asyncDispose](),
  };
}

/** Answers requests whose path has this text. */
const at =
  (text: string, answer: (...parameters: Parameters<Answerer>) => void): Answerer =>
  (asked, response) => {
    const isIt = asked.path.includes(text);
    if (isIt) answer(asked, response);
    return isIt;
  };

describe("an image in a registry", () => {
  it("is found by tag and by digest, for this platform", async () => {
    await using made = await make();
    for (const tag of [":one", ":many", `@${made.digest}`]) {
      await using image = await made.open({}, tag);
      expect(image.digest).toBe(made.digest);
    }
    expect(await made.read()).toEqual([PLAIN]);
  });

  it("is found without TLS, where that is said of the registry", async () => {
    const store = new BlobStore();
    const manifest = addImage(store, { layers: [] });
    await using origin = await openOrigin(
      createServer((request, response) => {
        const name = request.url?.split("/").at(-1) ?? "";
        response.end(store.blobs.get(name === "latest" ? manifest.digest : name));
      }),
    );
    await using made = await make();
    const reference = parseReference(`127.0.0.1:${origin.port}/app`);
    const egress = made.lab.egress({ allow: [`127.0.0.1:${origin.port}`] });
    await using image = await openRegistryImage(reference, { egress, insecure: true }, SIGNAL);
    expect(image.digest).toBe(manifest.digest);
    await expect(openRegistryImage(reference, { egress }, SIGNAL)).rejects.toMatchObject({ code: "NETWORK_FAILED" });
    const closed = { egress: made.lab.egress("all"), insecure: true };
    await expect(openRegistryImage(reference, closed, SIGNAL)).rejects.toMatchObject({ code: "NETWORK_DENIED" });
  });

  it("is read with a password", async () => {
    await using made = await make(() => ({ realm: "basic" }));
    expect(await made.read({ credential: USER })).toEqual([PLAIN]);
  });

  it.each([REGISTRY_HOST, TOKEN_HOST])("is read with a token of %s, which is asked for this repository alone", async (host) => {
    await using made = await make((lab) => ({ realm: `${lab.url(host)}/token?account=x` }));
    expect(await made.read({ credential: USER })).toEqual([PLAIN]);
    const path = "/token?account=x&service=the+registry&scope=repository%3Ateam%2Fapp%3Apull";
    expect(made.lab.asked).toContainEqual({ host, path, authorization: BASIC });
  });

  it("is read by a token without a password, wherever tokens are given", async () => {
    await using made = await make((lab) => ({ realm: `${lab.url(STRANGER_HOST)}/token` }));
    expect(await made.read()).toEqual([PLAIN]);
  });

  it("gets another token when the first is no longer taken", async () => {
    let isStale = true;
    await using made = await make((lab) => ({
      realm: `${lab.url(TOKEN_HOST)}/token`,
      answer: (asked, response) => {
        const isRefused = isStale && asked.path.includes("/blobs/") && asked.authorization !== undefined;
        isStale &&= !isRefused;
        if (isRefused) response.writeHead(401, { "www-authenticate": `Bearer realm="${lab.url(TOKEN_HOST)}/token"` }).end();
        return isRefused;
      },
    }));
    expect(await made.read()).toEqual([PLAIN]);
    expect(made.lab.asked.filter(({ host }) => host === TOKEN_HOST)).toHaveLength(2);
  });

  it("has its blobs at another host, which gets no credential", async () => {
    await using made = await make((lab) => ({ realm: `${lab.url(TOKEN_HOST)}/token`, blobsAt: lab.url(BLOB_HOST) }));
    expect(await made.read({ credential: USER })).toEqual([PLAIN]);
    const there = made.lab.asked.filter(({ host }) => host === BLOB_HOST);
    expect(there.length).toBeGreaterThan(0);
    expect(there.every(({ authorization }) => authorization === undefined)).toBe(true);
  });
});

describe("a registry that leads elsewhere", () => {
  it.each<readonly [string, (lab: RegistryLab) => string]>([
    ["a stranger", (lab) => `${lab.url(STRANGER_HOST)}/token`],
    ["another port of its own host", () => `https://${REGISTRY_HOST}:9/token`],
    ["a URL without TLS", () => `http://${TOKEN_HOST}/token`],
    ["no URL", () => "token"],
  ])("is not told the password at %s", async (_name, realm) => {
    await using made = await make((lab) => ({ realm: realm(lab) }));
    await expect(made.read({ credential: USER })).rejects.toMatchObject({ code: "REGISTRY_DENIED" });
    expect(made.lab.asked.map(({ host }) => host)).toEqual([REGISTRY_HOST]);
  });

  it("is not told the password by a redirect of the realm", async () => {
    await using made = await make((lab) => ({
      realm: `${lab.url(TOKEN_HOST)}/token`,
      answer: at("/token", (_asked, response) => void response.writeHead(307, { location: lab.url(STRANGER_HOST) }).end()),
    }));
    await expect(made.read({ credential: USER })).rejects.toMatchObject({ code: "NETWORK_FAILED" });
    expect(made.lab.asked.map(({ host }) => host)).toEqual([REGISTRY_HOST, TOKEN_HOST]);
  });

  it("is not told the password by the host that a blob is redirected to", async () => {
    await using made = await make((lab) => ({
      blobsAt: lab.url(STRANGER_HOST),
      answer: (asked, response) => {
        if (asked.host !== STRANGER_HOST) return false;
        response.writeHead(401, { "www-authenticate": "Basic" }).end();
        return true;
      },
    }));
    await expect(made.read({ credential: USER })).rejects.toMatchObject({ code: "REGISTRY_DENIED" });
    expect(made.lab.asked.every(({ authorization }) => authorization === undefined)).toBe(true);
  });

  it.each<readonly [string, (lab: RegistryLab) => string]>([
    ["a private address", () => "https://169.254.169.254/latest"],
    ["this machine", (lab) => `https://127.0.0.1:${lab.port}`],
    ["a host without a rule", (lab) => lab.url(STRANGER_HOST)],
    ["a URL without TLS", (lab) => `http://${BLOB_HOST}:${lab.port}`],
    ["a file", () => "file:///etc/passwd"],
    ["a password of its own", (lab) => `https://a:b@${BLOB_HOST}:${lab.port}`],
  ])("is not followed to %s", async (_name, blobsAt) => {
    await using made = await make((lab) => ({ blobsAt: blobsAt(lab) }));
    const egress = made.lab.egress(made.lab.rules(REGISTRY_HOST, BLOB_HOST));
    await expect(made.read({ egress })).rejects.toMatchObject({ code: "NETWORK_DENIED" });
    expect(new Set(made.lab.asked.map(({ host }) => host))).toEqual(new Set([REGISTRY_HOST]));
  });

  it("is not followed without end", async () => {
    await using made = await make(() => ({
      answer: at("/manifests/", (asked, response) => void response.writeHead(302, { location: asked.path }).end()),
    }));
    await expect(made.read()).rejects.toMatchObject({ code: "NETWORK_FAILED", message: expect.stringContaining("redirects") });
    expect(made.lab.asked).toHaveLength(6);
  });
});

describe("a registry that refuses", () => {
  const status = (code: number, headers = {}): Answerer =>
    at("/v2/", (_asked, response) => void response.writeHead(code, headers).end("no"));

  it.each([
    [403, "REGISTRY_DENIED", "without a password"],
    [404, "IMAGE_NOT_FOUND", "check its name"],
    [429, "NETWORK_FAILED", "no more requests"],
    [500, "NETWORK_FAILED", "status 500"],
    [204, "NETWORK_FAILED", "status 204"],
  ] as const)("with %d says what to do", async (code, error, message) => {
    await using made = await make(() => ({ answer: status(code, { "retry-after": "7" }) }));
    const expected = { code: error, message: expect.stringContaining(message), retryAfterMs: code === 429 ? 7_000 : undefined };
    await expect(made.read()).rejects.toMatchObject(expected);
  });

  it.each([
    ["no challenge", {}],
    ["an unknown challenge", { "www-authenticate": "Negotiate" }],
    ["a password for which there is none", { "www-authenticate": "Basic" }],
  ])("with 401 and %s", async (_name, headers) => {
    await using made = await make(() => ({ answer: status(401, headers) }));
    await expect(made.read()).rejects.toMatchObject({ code: "REGISTRY_DENIED" });
  });

  it("a wrong password, without telling it", async () => {
    const credential = { user: "anna", password: "wr0ng" };
    for (const realm of ["basic", "token"]) {
      await using made = await make((lab) => ({ realm: realm === "basic" ? realm : `${lab.url(TOKEN_HOST)}/token` }));
      const error: unknown = await made.read({ credential }).catch((reason: unknown) => reason);
      expect(error).toMatchObject({ code: "REGISTRY_DENIED", message: expect.stringContaining("anna") });
      expect((error as Error).message).not.toContain("wr0ng");
    }
  });

  it.each([
    ["no JSON", "<html>"],
    ["no token", "{}"],
    ["a token with a line break", JSON.stringify({ token: "a\r\nx: y" })],
    ["a token of megabytes", JSON.stringify({ token: "a".repeat(2_000_000) })],
  ])("a token with %s", async (_name, body) => {
    await using made = await make((lab) => ({
      realm: `${lab.url(TOKEN_HOST)}/token`,
      answer: at("/token", (_asked, response) => void response.end(body)),
    }));
    await expect(made.read()).rejects.toMatchObject({ code: expect.stringMatching(/IMAGE_INVALID|REGISTRY_DENIED/) });
  });
});

describe("a registry that lies", () => {
  it.each<readonly [string, string, Answerer]>([
    [
      "a manifest of another digest",
      "digest",
      at("/manifests/", (_asked, response) => void response.setHeader("docker-content-digest", `sha256:${"0".repeat(64)}`).end("{}")),
    ],
    ["a manifest of megabytes", "larger", at("/manifests/", (_asked, response) => void response.end(Buffer.alloc(5_000_000, " ")))],
    ["another length of a blob", "should have", at("/blobs/", (_asked, response) => void response.end("short"))],
    [
      "more of a blob",
      "more than",
      at("/blobs/", (_asked, response) => {
        response.write("x".repeat(5_000));
        response.end("y".repeat(50_000));
      }),
    ],
    ["a page of a portal", "manifest", at("/manifests/", (_asked, response) => void response.end("<html>log in</html>"))],
  ])("with %s", async (_name, message, answer) => {
    await using made = await make(() => ({ answer }));
    await expect(made.read()).rejects.toMatchObject({ code: "IMAGE_INVALID", message: expect.stringContaining(message) });
  });

  it("is asked by digest, and answers with another image", async () => {
    await using made = await make();
    const other = `@sha256:${"1".repeat(64)}`;
    await using lying = await make(() => ({ answer: at("/manifests/", (_asked, response) => void response.end("{}")) }));
    await expect(made.open({}, other)).rejects.toMatchObject({ code: "IMAGE_NOT_FOUND" });
    await expect(lying.open({}, other)).rejects.toMatchObject({ code: "IMAGE_INVALID" });
  });
});

describe("a registry that fails", () => {
  it("stops in the middle of a layer", async () => {
    await using made = await make();
    await using image = await made.open();
    const [layer] = image.layers;
    await using broken = await make(() => ({
      answer: at(`/blobs/${layer?.digest}`, (_asked, response) => {
        response.writeHead(200, { "content-length": layer?.size }).write(gzipSync(PLAIN).subarray(0, 20), () => response.destroy());
      }),
    }));
    await expect(broken.read()).rejects.toMatchObject({ code: "NETWORK_FAILED", message: expect.stringContaining("middle") });
  });

  it("says nothing, and is not waited for", async () => {
    await using made = await make(() => ({ answer: at("/manifests/", () => undefined) }));
    await expect(made.read({ egress: made.lab.egress(undefined, 50) })).rejects.toMatchObject({ code: "NETWORK_FAILED" });
  });
});
