import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer } from "node:https";
import { createEgressClient, type EgressClient } from "../../src/network/egress/egress-client.ts";
import type { NetworkPolicy } from "../../src/network/policy.ts";
import { createSandboxAuthority, createServerCertificates } from "../../src/network/tls/sandbox-authority.ts";
import { openOrigin } from "./egress-lab.ts";
import type { BlobStore, Descriptor } from "./image-maker.ts";
import { NO_LISTENERS } from "./no-listeners.ts";

/** Hosts that answer on one port of this machine, by TLS. */
export const REGISTRY_HOST = "registry.example.com";
export const TOKEN_HOST = "auth.example.com";
export const BLOB_HOST = "blobs.example.net";
export const STRANGER_HOST = "stranger.example.org";
const HOSTS = [REGISTRY_HOST, TOKEN_HOST, BLOB_HOST, STRANGER_HOST];

export interface Asked {
  readonly host: string;
  readonly path: string;
  readonly authorization: string | undefined;
}

/** Answers a request instead of the registry. Returns false to leave it to the registry. */
export type Answerer = (asked: Asked, response: ServerResponse) => boolean;

export interface RegistryLabOptions {
  readonly store: BlobStore;
  readonly tags: Readonly<Record<string, Descriptor>>;
  readonly answer?: Answerer;
  /** `basic`, or tokens from this realm. Default: everybody may read. */
  readonly realm?: string;
  /** Blobs are redirected to this URL, with their path behind it. */
  readonly blobsAt?: string;
}

export interface RegistryLab extends AsyncDisposable {
  readonly port: number;
  readonly asked: readonly Asked[];
  /** `https://HOST:PORT`. */
  url(host: string): string;
  /** A rule for each host. */
  rules(...hosts: readonly string[]): NetworkPolicy;
  /** Sends requests under this policy. Default: all hosts of the lab may be reached. */
  egress(policy?: NetworkPolicy, patienceMs?: number): EgressClient;
}

export const USER = { user: "anna", password: "s3cret:pass" };
export const BASIC = `Basic ${Buffer.from("anna:s3cret:pass").toString("base64")}`;
export const TOKEN = "t0ken.of-anna";

/** A registry by the distribution specification, with other hosts beside it. */
export async function openRegistryLab(given: RegistryLabOptions | ((lab: RegistryLab) => RegistryLabOptions)): Promise<RegistryLab> {
  const authority = createSandboxAuthority();
  const certificates = createServerCertificates(authority);
  const asked: Asked[] = [];
  let options: RegistryLabOptions | undefined;
  const server = createServer({ SNICallback: (name, done) => done(null, certificates.contextFor(name)) }, (request, response) => {
    const one = toAsked(request);
    asked.push(one);
    if (options && !(options.answer?.(one, response) ?? false)) answerAsRegistry(one, response, options);
  });
  const origin = await openOrigin(server);
  const clients: EgressClient[] = [];
  const rules: RegistryLab["rules"] = (...hosts) => ({ allow: hosts.map((host) => `${host}:${origin.port}`) });
  const lab: RegistryLab = {
    port: origin.port,
    asked,
    url: (host) => `https://${host}:${origin.port}`,
    rules,
    egress(policy = rules(...HOSTS), patienceMs = 10_000) {
      const client = createEgressClient({
        owner: "local",
        state: { policy },
        listeners: NO_LISTENERS,
        resolver: { resolve: async () => ["127.0.0.1"] },
        upstreamCa: [authority.certificatePem],
        patienceMs,
        record: () => undefined,
      });
      clients.push(client);
      return client;
    },
    async [Symbol.asyncDispose]() {
      for (const client of clients) client[Symbol.dispose]();
      await origin[Symbol.asyncDispose]();
    },
  };
  options = typeof given === "function" ? given(lab) : given;
  return lab;
}

function toAsked({ headers, url = "" }: IncomingMessage): Asked {
  return { host: headers.host?.replace(/:\d+$/, "") ?? "", path: url, authorization: headers.authorization };
}

function answerAsRegistry(asked: Asked, response: ServerResponse, options: RegistryLabOptions): void {
  if (asked.host === TOKEN_HOST || asked.path.startsWith("/token")) return answerToken(asked, response);
  const { store, tags, realm, blobsAt } = options;
  const isOpen =
    realm === undefined || asked.host !== REGISTRY_HOST || asked.authorization === (realm === "basic" ? BASIC : `Bearer ${TOKEN}`);
  const challenge = realm === "basic" ? 'Basic realm="x"' : `Bearer realm="${realm}",service="the registry",scope="repository:*:push"`;
  if (!isOpen) return void response.writeHead(401, { "www-authenticate": challenge }).end("{}");
  const [, kind, name = ""] = /\/(manifests|blobs)\/([^/?]+)/.exec(asked.path) ?? [];
  const descriptor = tags[name];
  const bytes = store.blobs.get(descriptor?.digest ?? name);
  if (!bytes) return void response.writeHead(404).end("{}");
  if (kind === "blobs" && blobsAt !== undefined && asked.host === REGISTRY_HOST)
    return void response.writeHead(307, { location: `${blobsAt}${asked.path}?signature=1` }).end();
  const mediaType =
    descriptor?.mediaType ?? (JSON.parse(kind === "manifests" ? bytes.toString() : "{}") as { mediaType?: string }).mediaType;
  return void response
    .writeHead(200, { "content-type": mediaType ?? "application/octet-stream", "content-length": bytes.length })
    .end(bytes);
}

function answerToken({ authorization }: Asked, response: ServerResponse): void {
  if (authorization !== undefined && authorization !== BASIC) return void response.writeHead(401).end();
  response.end(JSON.stringify({ token: TOKEN, expires_in: 60 }));
}
