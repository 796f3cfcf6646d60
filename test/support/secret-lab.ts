import { once } from "node:events";
import { mkdir, mkdtemp, realpath } from "node:fs/promises";
import type { IncomingMessage, RequestListener } from "node:http";
import { createServer } from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { AddressInfo, Server } from "node:net";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { createAuditLog } from "../../src/audit/audit-log.ts";
import type { ConnectionRecord } from "../../src/network/connection-record.ts";
import { createEgress } from "../../src/network/egress/create-egress.ts";
import { createSecretStore } from "../../src/secrets/create-secret-store.ts";
import type { SecretStore } from "../../src/secrets/secret-store.ts";
import { createSandboxAuthority, createServerCertificates } from "../../src/network/tls/sandbox-authority.ts";
import { openRuntime } from "../../src/runtime/registry.ts";
import { createLocalSandboxes } from "../../src/sandbox/local-sandboxes.ts";
import type { LocalSandboxes } from "../../src/sandbox/local-sandboxes-options.ts";
import type { CreateOptions, ForkOptions, Sandbox } from "../../src/sandbox/sandbox.ts";
import { LOCAL } from "../../src/sandbox/sandbox.ts";
import { removeFolder } from "../security/support/outside.ts";
import { NO_LISTENERS } from "./no-listeners.ts";
import { byName } from "./by-name.ts";
import { makeSharingHome } from "./share-base.ts";

const ROOT = resolve(import.meta.dirname, "../..");
const SANDBOX = { timeoutMs: 300_000, pids: 128 };

/** A whole network of one machine: origins on loopback under names of their own, and sandboxes that reach them. */
export interface SecretLab extends AsyncDisposable {
  readonly home: string;
  readonly sandboxes: LocalSandboxes;
  readonly store: SecretStore;
  readonly records: readonly ConnectionRecord[];
  /** What the library told a person. */
  readonly reports: readonly string[];
  /** An origin that speaks TLS, with a certificate that the host trusts. */
  https(host: string, answer: RequestListener): Promise<Origin>;
  http(host: string, answer: RequestListener): Promise<Origin>;
  /** A sandbox of the local user; it ends with the lab. */
  sandbox(options: CreateOptions): Promise<Sandbox>;
  /** A fork of one of them; it ends with the lab. */
  fork(sandbox: Sandbox, options: ForkOptions): Promise<Sandbox>;
  /** Resolves when all of the audit is on disk. No connection is recorded after that. */
  flush(): Promise<void>;
}

export interface Origin {
  /** `host:port`, which is a rule too. */
  readonly authority: string;
  readonly url: string;
  readonly requests: readonly IncomingMessage[];
  readonly server: Server;
}

export async function openSecretLab(): Promise<SecretLab> {
  const folder = await realpath(await mkdtemp(join(tmpdir(), "bjsec-")));
  const home = join(folder, "home");
  makeSharingHome(home);
  await mkdir(join(folder, "run"), { mode: 0o700 });
  const [records, reports, servers, made] = [[] as ConnectionRecord[], [] as string[], [] as Server[], [] as Sandbox[]];
  const names = new Map<string, readonly string[]>();
  const audit = createAuditLog({ home });
  const publicAuthority = createSandboxAuthority();
  const certificates = createServerCertificates(publicAuthority);
  const egress = createEgress({
    listeners: NO_LISTENERS,
    record: (record) => {
      records.push(record);
      audit.recordConnection({ ...record });
    },
    resolver: { resolve: async (host) => names.get(host) ?? Promise.reject(new TypeError("no such name")) },
    upstreamCa: [publicAuthority.certificatePem],
  });
  const store = createSecretStore({ home });
  const runtime = await openRuntime("namespace", {
    home,
    runtimeDirectory: join(folder, "run"),
    storage: "home",
    kernels: join(ROOT, "dist/kernels"),
    binary: join(ROOT, "native/build/belljar-native"),
  });
  const config = { sandbox: SANDBOX, listMax: 100, tombstoneRetentionMs: 60_000 };
  const report = (problem: string): void => void reports.push(problem);
  const sandboxes = createLocalSandboxes({ home, runtimes: byName(runtime), config, egress, secrets: store, report });
  const open = async (host: string, scheme: string, server: Server): Promise<Origin> => {
    servers.push(server);
    names.set(host, ["127.0.0.1"]);
    const requests: IncomingMessage[] = [];
    server.on("request", (request: IncomingMessage) => requests.push(request));
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const authority = `${host}:${(server.address() as AddressInfo).port}`;
    return { authority, url: `${scheme}://${authority}`, requests, server };
  };
  return {
    home,
    sandboxes,
    store,
    records,
    reports,
    https: (host, answer) =>
      open(host, "https", createTlsServer({ SNICallback: (name, done) => done(null, certificates.contextFor(name)) }, answer)),
    http: (host, answer) => open(host, "http", createServer(answer)),
    async sandbox(options) {
      const sandbox = await sandboxes.create(LOCAL, options, AbortSignal.timeout(30_000));
      made.push(sandbox);
      return sandbox;
    },
    async fork({ id }, options) {
      const forks = await sandboxes.snapshots.fork(LOCAL, { sandbox: id }, options, AbortSignal.timeout(30_000));
      made.push(...forks);
      const [fork] = forks;
      if (!fork) throw new TypeError("no fork was made");
      return fork;
    },
    async flush() {
      await egress[Symbol.asyncDispose]();
      await audit.close();
    },
    async [Symbol.asyncDispose]() {
      await Promise.allSettled(made.map((sandbox) => sandbox.kill()));
      await sandboxes[Symbol.asyncDispose]();
      await egress[Symbol.asyncDispose]();
      await audit.close();
      for (const server of servers) server.close();
      await removeFolder(folder);
    },
  };
}
