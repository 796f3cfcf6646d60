import { existsSync } from "node:fs";
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Sandbox } from "../../src/sandbox/sandbox.ts";
import { removeFolder } from "../security/support/outside.ts";
import { makeAptArchive, makeNpmRegistry, makePipIndex, makeRepository, serveFolder } from "../support/package-origins.ts";
import type { Origin, SecretLab } from "../support/secret-lab.ts";
import { findIdMap } from "../../src/runtime/namespace/id-map.ts";
import { openSecretLab } from "../support/secret-lab.ts";

let lab: SecretLab;
let folder: string;
let sandbox: Sandbox;
let web: Origin;
let git: Origin;
let npm: Origin;
let pip: Origin;
let apt: Origin | undefined;
const hasApt = ["/usr/bin/apt-get", "/usr/bin/dpkg-deb"].every((path) => existsSync(path));

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "bjnet-"));
  lab = await openSecretLab();
  await makeRepository(folder);
  web = await lab.http("web.test", (request, response) => response.end(`${request.method} ${request.url} of ${request.headers.host}`));
  git = await lab.http("git.test", serveFolder(folder));
  npm = await lab.http("npm.test", await makeNpmRegistry(join(folder, "npm"), () => npm.url));
  pip = await lab.http("pip.test", await makePipIndex(join(folder, "pip")));
  apt = hasApt ? await lab.http("apt.test", await makeAptArchive(join(folder, "apt"))) : undefined;
  const local = web.authority.replace("web.test", "127.0.0.1");
  const allow = [...[web, git, npm, pip, apt].flatMap((origin) => origin?.authority ?? []), local];
  sandbox = await lab.sandbox({ network: { allow } });
});
afterAll(async () => {
  await lab?.[Symbol.asyncDispose]();
  await removeFolder(folder);
});

/** Asks as musl's resolver does: A and AAAA at once from one UDP socket, each answer matched by its id. Then it visits. */
const ASK_AS_MUSL = `
import socket, struct, sys
host, port = sys.argv[1], int(sys.argv[2])
name = b"".join(bytes([len(label)]) + label for label in host.encode().split(b".")) + bytes(1)
client = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
client.settimeout(20)
client.bind(("0.0.0.0", 0))
for id, kind in ((1, 1), (2, 28)):
  client.sendto(struct.pack(">HHHHHH", id, 0x100, 1, 0, 0, 0) + name + struct.pack(">HH", kind, 1), ("127.0.0.1", 53))
answers = {}
while len(answers) < 2:
  answer, peer = client.recvfrom(512)
  if peer == ("127.0.0.1", 53): answers[struct.unpack(">H", answer[:2])[0]] = answer
if answers[1][3] & 15: sys.exit("code %d" % (answers[1][3] & 15))
print("records", struct.unpack(">H", answers[1][6:8])[0], struct.unpack(">H", answers[2][6:8])[0])
web = socket.create_connection((socket.inet_ntoa(answers[1][-4:]), port))
web.sendall(b"GET /m HTTP/1.0\\r\\nHost: %s:%d\\r\\n\\r\\n" % (host.encode(), port))
print(web.makefile().read())
`;

interface Outcome {
  readonly code: number | undefined;
  readonly said: string;
}

async function inside(script: string, user: string): Promise<Outcome> {
  const result = await sandbox.guest.run({ argv: ["bash", "-c", script], user, timeoutMs: 40_000, signal: AbortSignal.timeout(50_000) });
  return { code: result.exitCode, said: result.stdout.toString() + result.stderr.toString() };
}

describe.each(["root", "user"])("as %s", (user) => {
  const succeeds = async (script: string, said: string): Promise<void> =>
    expect(await inside(script, user)).toEqual({ code: 0, said: expect.stringContaining(said) as string });

  it("curl reaches an allowed host, with the proxy, through SOCKS and without either", async () => {
    await succeeds(`curl -sS ${web.url}/a`, "GET /a of web.test");
    await succeeds(`curl -sS -x socks5h://127.0.0.1:1080 ${web.url}/b`, "GET /b of web.test");
    await succeeds(`curl -sS -p -x http://127.0.0.1:3128 ${web.url}/c`, "GET /c of web.test");
    await succeeds(`curl -sS --noproxy '*' ${web.url}/d`, "GET /d of web.test");
  });

  it("a program is told which rule is missing", async () => {
    const { said } = await inside("curl -sSi http://other.test/", user);
    expect(said).toContain("403 Forbidden");
    expect(said).toContain(`belljar sandbox network ${sandbox.id} --allow other.test`);
    expect((await inside("curl -sS --noproxy '*' http://other.test/", user)).said).toContain("Could not resolve host");
    expect((await inside("curl -sS https://other.test/", user)).said).toContain("403");
  });

  it("curl reaches a server of the sandbox by the sandbox's own host name", async () => {
    const served = `http.createServer((_, answer) => answer.end("own")).listen(0, () => console.log(server.address().port))`;
    const script = `exec 3< <(exec node -e 'const server = ${served}'); read -r port <&3; curl -sS "http://$(hostname):$port/"; kill $!`;
    await succeeds(script, "own");
  });

  it("Python and Node reach it, whether they know proxies or not", async () => {
    await succeeds(`python3 -c 'import urllib.request as r; print(r.urlopen("${web.url}/p").read())'`, "GET /p of web.test");
    await succeeds(`node -e 'fetch("${web.url}/n").then(r => r.text()).then(console.log)'`, "GET /n of web.test");
    const [host, port] = web.authority.split(":");
    const bare = `import socket; s=socket.create_connection(("${host}",${port})); s.sendall(b"GET /s HTTP/1.0\\r\\nHost: ${web.authority}\\r\\n\\r\\n"); print(s.recv(4096))`;
    await succeeds(`python3 -c '${bare}'`, "GET /s of web.test");
  });

  it("a program that asks for names over UDP alone, as musl's resolver, finds allowed ones and no others", async () => {
    const ask = (host: string): string => `python3 - ${host} ${web.authority.split(":")[1]} << 'END'\n${ASK_AS_MUSL}\nEND`;
    await succeeds(ask("web.test"), "records 1 0\n");
    await succeeds(ask("web.test"), "GET /m of web.test");
    expect(await inside(ask("udp-refused.test"), user)).toEqual({ code: 1, said: "code 3\n" });
    const refused = { via: "dns", host: "udp-refused.test", verdict: "refused", reason: "no-rule" };
    expect(lab.records).toContainEqual(expect.objectContaining(refused));
  });

  it("git clones", async () => {
    const to = `/tmp/clone-${user}`;
    await succeeds(`git clone -q ${git.url}/repo.git ${to} && cat ${to}/README`, "cloned through the way out");
  });

  it("npm installs", async () => {
    const install = `mkdir -p /tmp/npm-${user} && cd /tmp/npm-${user} && npm install --silent --no-audit --registry ${npm.url}/ tiny`;
    await succeeds(`${install} && node -p 'require("tiny")'`, "tiny from npm");
  });

  it("npm runs a script and looks for no newer npm, which would be refused and reported", async () => {
    const folder = `/tmp/script-${user}`;
    const script = `mkdir ${folder} && cd ${folder} && echo '{"scripts":{"hello":"echo it ran"}}' > package.json`;
    await succeeds(`${script} && npm --cache ${folder}/cache run hello`, "it ran");
    expect(lab.records).not.toContainEqual(expect.objectContaining({ host: "registry.npmjs.org" }));
  });

  it("pip installs", async () => {
    const options = `--no-cache-dir --trusted-host pip.test --index-url ${pip.url}/simple`;
    // What root leaves behind, the user may not replace.
    await succeeds(
      `python3 -m pip install -q --ignore-installed ${options} tiny && python3 -c 'import tiny; print(tiny.said)' && python3 -m pip uninstall -qy tiny`,
      "tiny from pip",
    );
  });

  it("pip is refused soon, and does not try six times", async () => {
    const index = `https://${user}.refused.test/simple`;
    expect((await inside(`python3 -m pip install --no-cache-dir --index-url ${index} absent`, user)).code).toBe(1);
    expect(lab.records.filter((record) => "host" in record && record.host === `${user}.refused.test`)).toHaveLength(2);
  });

  it("finds the programs that pip installs for the user", () => succeeds('echo "$PATH"', ":/home/user/.local/bin\n"));

  it("reaches the host's loopback on the port that a rule names, and on no other", async () => {
    const port = web.authority.split(":")[1];
    await succeeds(`curl -sS http://127.0.0.1:${port}/l`, "GET /l of 127.0.0.1");
    const other = npm.authority.split(":")[1];
    expect((await inside(`curl -sS http://127.0.0.1:${other}/tiny`, user)).code).not.toBe(0);
    expect((await inside(`curl -sS --noproxy '' -x http://127.0.0.1:3128 http://127.0.0.1:${other}/tiny`, user)).said).toContain("no rule");
  });
});

const whyNoApt = hasApt ? (findIdMap().kind === "single" ? "where there is one id" : "") : "where the host has no apt";

it.skipIf(whyNoApt !== "")(
  `sudo apt-get installs a package with an account of its own${whyNoApt && ` (skipped ${whyNoApt})`}`,
  async () => {
    const options = "-o Dir::Etc::sourcelist=/tmp/apt.list -o Dir::Etc::sourceparts=-";
    const said = await inside(
      `echo "deb [trusted=yes] ${apt?.url} tiny main" > /tmp/apt.list && sudo apt-get ${options} update && sudo apt-get ${options} install -y belljar-tiny && belljar-tiny && python3 -c 'import belljar_tiny' && stat -c %U:%a /var/lib/belljar-tiny /usr/bin/belljar-tiny`,
      "user",
    );
    expect(said).toEqual({ code: 0, said: expect.stringMatching(/tiny from apt\nbelljar-tiny:755\nroot:4755\n$/) as string });
    const removed = await inside("sudo apt-get remove -y belljar-tiny && ! ls /usr/bin/belljar-tiny", "user");
    expect(removed).toMatchObject({ code: 0 });
  },
);

it("writes down every connection, refused ones too", () => {
  expect(lab.records).toEqual(
    expect.arrayContaining([
      expect.objectContaining({
        sandbox: sandbox.id,
        owner: "local",
        via: "http",
        host: "web.test",
        verdict: "allowed",
        address: "127.0.0.1",
      }),
      expect.objectContaining({ via: "socks", host: "web.test", verdict: "allowed" }),
      expect.objectContaining({ via: "transparent", host: "web.test", verdict: "allowed" }),
      expect.objectContaining({ via: "dns", host: "other.test", verdict: "refused", reason: "no-rule" }),
      expect.objectContaining({ via: "connect", host: "other.test", port: 443, verdict: "refused", reason: "no-rule" }),
    ]),
  );
});
