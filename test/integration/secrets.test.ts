import type { IncomingMessage, ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import { afterAll, beforeAll, expect, it } from "vitest";
import type { Sandbox } from "../../src/sandbox/sandbox.ts";
import type { Origin, SecretLab } from "../support/secret-lab.ts";
import { openSecretLab } from "../support/secret-lab.ts";

const VALUE = "sk-planted-0123456789abcdef";

/** Says what it was sent, as debugging services do; as a registry it wants to know who asks. */
function answer(request: IncomingMessage, response: ServerResponse): void {
  const { authorization } = request.headers;
  if (request.url?.startsWith("/repo.git") && authorization === undefined)
    return void response.writeHead(401, { "www-authenticate": 'Basic realm="git"' }).end();
  if (request.url?.startsWith("/repo.git/info/refs")) return void response.end(`${"a".repeat(40)}\trefs/heads/main\n`);
  response.setHeader("x-echo", authorization ?? "");
  response.end(JSON.stringify({ url: request.url, headers: request.headers }));
}

let lab: SecretLab;
let api: Origin;
let sandbox: Sandbox;
beforeAll(async () => {
  lab = await openSecretLab();
  await lab.store.set("local", "openai", VALUE);
  api = await lab.https("api.secret.test", answer);
  sandbox = await lab.sandbox({
    network: { allow: [api.authority] },
    secrets: { API_KEY: { secret: "openai", hosts: [api.authority] } },
  });
});
afterAll(() => lab[Symbol.asyncDispose]());

async function inside(script: string, user = "user"): Promise<string> {
  const result = await sandbox.guest.run({ argv: ["bash", "-c", script], user, timeoutMs: 30_000, signal: AbortSignal.timeout(40_000) });
  const said = result.stdout.toString() + result.stderr.toString();
  if (result.exitCode !== 0) throw new Error(`exit ${result.exitCode}: ${said}`);
  return said;
}

const received = (): string => api.requests.at(-1)?.headers.authorization ?? "";

interface Client {
  readonly name: string;
  readonly script: string;
  readonly user?: string;
}

const CLIENTS: readonly Client[] = [
  { name: "curl", script: `curl -sS -H "Authorization: Bearer $API_KEY" URL/` },
  { name: "curl as root", script: `curl -sS -H "Authorization: Bearer $API_KEY" URL/`, user: "root" },
  { name: "curl without a proxy", script: `curl -sS --noproxy '*' -H "Authorization: Bearer $API_KEY" URL/` },
  { name: "wget", script: `wget -qO- --header "Authorization: Bearer $API_KEY" URL/` },
  {
    name: "python",
    script: `python3 -c 'import os,urllib.request as r; print(r.urlopen(r.Request("URL/", headers={"Authorization": "Bearer "+os.environ["API_KEY"]})).read())'`,
  },
  {
    name: "node",
    script: `node -e 'require("https").get("URL/", {headers: {authorization: "Bearer "+process.env.API_KEY}}, r => r.pipe(process.stdout))'`,
  },
  {
    name: "fetch of node",
    script: `node -e 'fetch("URL/", {headers: {authorization: "Bearer "+process.env.API_KEY}}).then(r => r.text()).then(console.log)'`,
  },
  { name: "npm", script: `echo "//HOST/:_authToken=$API_KEY" > ~/.npmrc; npm view --registry URL/ --json nothing || true; cat ~/.npmrc` },
  {
    name: "openssl, which reads no variable",
    script: `env -i PATH="$PATH" K="$API_KEY" bash -c 'printf "GET / HTTP/1.1\\r\\nHost: HOST\\r\\nAuthorization: Bearer $K\\r\\nConnection: close\\r\\n\\r\\n" | openssl s_client -quiet -verify_return_error -servername NAME -connect HOST'`,
  },
];

const BASIC_CLIENTS: readonly Client[] = [
  { name: "curl", script: `curl -sS -u "user:$API_KEY" URL/` },
  { name: "git", script: `git ls-remote https://user:$API_KEY@HOST/repo.git; echo $API_KEY` },
  {
    name: "pip",
    script: `python3 -m pip download --no-input --no-deps -d /tmp/pip --index-url https://user:$API_KEY@HOST/simple nothing || echo $API_KEY`,
  },
];

const fillIn = ({ script }: Client): string =>
  script.replaceAll("URL", api.url).replaceAll("HOST", api.authority).replaceAll("NAME", "api.secret.test");

it.each(CLIENTS)("is used by $name, which sees the placeholder alone", async (client) => {
  const said = await inside(fillIn(client), client.user);
  expect(received(), said).toBe(`Bearer ${VALUE}`);
  expect(said).toMatch(/belljar_secret_[a-z2-7]{26}/);
  expect(said).not.toContain(VALUE);
});

it.each(BASIC_CLIENTS)("is used by $name as a password", async (client) => {
  const said = await inside(fillIn(client), client.user);
  expect(received(), said).toBe(`Basic ${Buffer.from(`user:${VALUE}`).toString("base64")}`);
  expect(said).not.toContain(VALUE);
  expect(said).not.toContain(Buffer.from(VALUE).toString("base64").slice(0, -2));
});

it("is masked in what a WebSocket server sends, at its full length", async () => {
  const ws = await lab.https("ws.secret.test", answer);
  const box = await lab.sandbox({ network: { allow: [ws.authority] }, secrets: { WS_KEY: { secret: "openai", hosts: [ws.authority] } } });
  ws.server.on("upgrade", (request: IncomingMessage, socket: Duplex) => {
    const text = `key ${request.headers.authorization}`;
    socket.write("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n");
    socket.end(Buffer.concat([Buffer.from([0x81, text.length]), Buffer.from(text)]));
  });
  const script = `curl -sS --http1.1 --max-time 20 -H "Connection: Upgrade" -H "Upgrade: websocket" -H "Sec-WebSocket-Version: 13" -H "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==" -H "Authorization: $WS_KEY" ${ws.url}/ | od -An -c | tr -d ' \\n'`;
  const { stdout } = await box.guest.run({ argv: ["bash", "-c", script], timeoutMs: 30_000, signal: AbortSignal.timeout(40_000) });
  expect(stdout.toString()).toBe(`201037key${"*".repeat(VALUE.length)}`);
});

it("is missed with a sentence that says what to do, once it is removed", async () => {
  const gone = await lab.https("gone.secret.test", answer);
  await lab.store.set("local", "short-lived", VALUE);
  const box = await lab.sandbox({
    network: { allow: [gone.authority] },
    secrets: { GONE_KEY: { secret: "short-lived", hosts: [gone.authority] } },
  });
  const ask = async (): Promise<string> => {
    const script = `curl -sS -i -H "X-Key: $GONE_KEY" ${gone.url}/`;
    return (
      await box.guest.run({ argv: ["bash", "-c", script], timeoutMs: 30_000, signal: AbortSignal.timeout(40_000) })
    ).stdout.toString();
  };
  expect(await ask()).toContain("200 OK");
  await lab.store.set("local", "short-lived", "a-new-value");
  await ask();
  expect(gone.requests.at(-1)?.headers["x-key"]).toBe("a-new-value");
  await lab.store.remove("local", "short-lived");
  const refused = await ask();
  expect(refused).toContain("x-belljar-error: secret-missing");
  expect(refused).toContain("belljar secret set short-lived");
  expect(lab.records.at(-1)).toMatchObject({ verdict: "failed", reason: "secret-missing", host: "gone.secret.test" });
});
