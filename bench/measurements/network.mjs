import { fork, spawn } from "node:child_process";
import { once } from "node:events";
import { generateKeyPairSync } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { MIB, NEVER, ROOT, compare, openEgressHome, scaled, summarise } from "../harness.mjs";

/** Not in any DNS: the home's own resolver knows it. */
const NAME = "origin.bench.test";
const PROXY = 3128;
const GIGABYTE = 1_000_000_000;
const SAMPLE_MS = 20;
const HOUR_MS = 3_600_000;
const SYSTEM_CERTIFICATES = "/etc/ssl/certs/ca-certificates.crt";
const PYTHON = "/usr/bin/python3";

/** Some thirty downloads of 1 GB, a third of them through TLS that is read. */
export const limitMs = 300_000;

/** A client in a sandbox through the policy beside the same client going straight, to an origin on loopback. */
export async function measure(home) {
  const origin = await openOrigin(home.folder);
  const network = await openEgressHome(home, { addresses: { [NAME]: ["127.0.0.1"] }, certificates: [origin.certificate] });
  const policy = { allow: [`${NAME}:${origin.http}`, `${NAME}:${origin.https}`] };
  const straight = localClient(origin.certificateFile);
  const plain = await network.create({ network: policy });
  await plain.guest.files.write("authority.crt", origin.certificate, { signal: NEVER });
  const inside = await sandboxClient(plain, "authority.crt");
  await network.setSecret("bench", "a-secret-value");
  const secrets = { KEY: { secret: "bench", hosts: [`${NAME}:${origin.https}`] } };
  const readable = await sandboxClient(await network.create({ network: policy, secrets }), SYSTEM_CERTIFICATES);
  const get = (client, path, { scheme = "http", proxy = "", how = "fresh" } = {}) =>
    client.get(`${how} ${scheme}://${NAME}:${origin[scheme]}${path} 127.0.0.1 ${origin[scheme]} ${proxy}`);
  const proxied = { proxy: PROXY };
  const small = (how) => ({
    reference: () => get(straight, "/", { how }),
    measured: () => get(inside, "/", { how, ...proxied }),
    blocks: 8,
    each: 15,
    settleMs: 0,
  });
  const large = (client, scheme) => ({
    reference: () => get(straight, `/bytes/${scaled(GIGABYTE)}`, { scheme }),
    measured: () => get(client, `/bytes/${scaled(GIGABYTE)}`, { scheme, ...proxied }),
    blocks: 3,
    each: 1,
    settleMs: 0,
  });
  const rows = [
    { what: "GET of 1 KB through the policy, new connection", added: 1.2, beside: "straight", ...(await compare(small("fresh"))) },
    { what: "GET of 1 KB through the policy, kept connection", added: 0.5, beside: "straight", ...(await compare(small("kept"))) },
    { what: "download of 1 GB through the policy", goal: 3, beside: "straight", ...(await compare(large(inside, "http"))) },
    { what: "download of 1 GB, TLS passed through", goal: 2, beside: "straight", ...(await compare(large(inside, "https"))) },
    { what: "download of 1 GB, TLS read for a secret", goal: 3.33, beside: "straight", ...(await compare(large(readable, "https"))) },
    await memoryRow(() => get(inside, `/bytes/${scaled(GIGABYTE)}`, proxied)),
    await createRow(network, policy),
  ];
  await Promise.all([straight, inside, readable].map((client) => client.close()));
  origin.close();
  await network.close();
  return rows;
}

/** A sandbox with a policy, its first command included, beside one with none. */
async function createRow(network, policy) {
  const createAnd = async (options) => {
    const sandbox = await network.create(options);
    await sandbox.guest.run({ argv: ["/bin/true"], signal: NEVER });
    return sandbox;
  };
  const timed = async (options) => {
    const started = performance.now();
    const sandbox = await createAnd(options);
    const ms = performance.now() - started;
    await sandbox.kill();
    return ms;
  };
  const figures = await compare({ reference: () => timed({}), measured: () => timed({ network: policy }), blocks: 8, each: 6 });
  return { what: "create + exec with a policy", goal: 1.1, beside: "with the policy none", ...figures };
}

async function memoryRow(download) {
  const idle = process.memoryUsage.rss();
  const samples = [];
  const sample = () => samples.push((process.memoryUsage.rss() - idle) / MIB);
  const timer = setInterval(sample, SAMPLE_MS);
  await download();
  clearInterval(timer);
  sample(); // a quick one is over before the timer
  const worst = Math.max(...samples);
  return { what: "host memory above idle while 1 GB is downloaded", unit: "MiB", measured: summarise(samples), worst, most: 50 };
}

async function openOrigin(folder) {
  const { key, certificate, authority } = await createIdentity();
  const files = [join(folder, "origin.key"), join(folder, "origin.crt"), join(folder, "authority.crt")];
  [key, certificate, authority].forEach((text, index) => writeFileSync(files[index], text));
  const child = fork(join(ROOT, "bench/fixtures/origin.mjs"), files.slice(0, 2), { stdio: ["ignore", 2, 2, "ipc"] });
  const [ports] = await once(child, "message");
  return { ...ports, certificate: authority, certificateFile: files[2], close: () => child.disconnect() };
}

/** A certificate of the origin's name, by an authority that nobody else knows. */
async function createIdentity() {
  const { createCertificate } = await import("../../dist/lib/network/tls/certificate.js");
  const [root, leaf] = [0, 1].map(() => generateKeyPairSync("ec", { namedCurve: "P-256" }));
  const signed = { issuer: "bench", issuerKey: root.privateKey, issuerPublicKey: root.publicKey };
  const lifetime = { notBefore: new Date(Date.now() - HOUR_MS), notAfter: new Date(Date.now() + HOUR_MS) };
  const make = (subject, subjectKey, use) => createCertificate({ subject, subjectKey, use, ...signed, ...lifetime });
  return {
    key: leaf.privateKey.export({ type: "pkcs8", format: "pem" }),
    certificate: make(NAME, leaf.publicKey, { kind: "server", host: NAME }),
    authority: make("bench", root.publicKey, { kind: "authority" }),
  };
}

function localClient(certificates) {
  const child = spawn(PYTHON, [join(ROOT, "bench/fixtures/get.py"), certificates], { stdio: ["pipe", "pipe", 2], env: {} });
  return askClient(child, async () => {
    child.stdin.end();
    await once(child, "close");
  });
}

async function sandboxClient({ guest }, certificates) {
  await guest.files.write("get.py", readFileSync(join(ROOT, "bench/fixtures/get.py")), { signal: NEVER });
  const process = await guest.exec({ argv: [PYTHON, "get.py", certificates], signal: NEVER });
  process.stderr.pipe(globalThis.process.stderr, { end: false });
  return askClient(process, () => process[Symbol.asyncDispose]());
}

function askClient({ stdin, stdout }, close) {
  const lines = createInterface({ input: stdout })[Symbol.asyncIterator]();
  return {
    async get(request) {
      stdin.write(`${request}\n`);
      const { value, done } = await lines.next();
      if (done) throw new Error(`The client ended at ${request}`);
      return Number(value);
    },
    close,
  };
}
