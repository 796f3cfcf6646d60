import type { IncomingMessage, ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import { setTimeout as pause } from "node:timers/promises";
import { expect } from "vitest";
import { WebSocketServer } from "ws";
import { EVALUATE } from "../../src/browser/actions/evaluate.ts";
import { NAVIGATE } from "../../src/browser/actions/navigate.ts";
import { Browsers } from "../../src/browser/browsers.ts";
import { patiently } from "../support/browser-lab.ts";
import { openSecretLab } from "../support/secret-lab.ts";
import { verifies } from "./verifies.ts";

const VALUE = "sk-planted-0123456789abcdef";

function site({ url, headers }: IncomingMessage, response: ServerResponse): void {
  response.setHeader("content-type", url === "/worker.js" ? "text/javascript" : "text/html");
  if (url === "/worker.js")
    return void response.end(
      "onmessage = (e) => fetch(e.data).then(() => 'reached', () => 'refused').then((said) => e.source.postMessage(said))",
    );
  response.end(`<title>site</title>${headers.authorization ?? ""}`);
}

const viaWorker = (url: string): string => `(async () => {
  await navigator.serviceWorker.register('/worker.js');
  const { active } = await navigator.serviceWorker.ready;
  const said = new Promise((done) => navigator.serviceWorker.onmessage = (e) => done(e.data));
  active.postMessage(${JSON.stringify(url)});
  return said;
})()`;

const viaSocket = (url: string): string => `new Promise((done) => {
  const socket = new WebSocket(${JSON.stringify(url)});
  socket.onmessage = ({ data }) => done(data);
  socket.onerror = () => done('refused');
})`;

const viaFetch = (url: string): string => `fetch(${JSON.stringify(url)}, { mode: 'no-cors' }).then(() => 'reached', () => 'refused')`;

verifies(
  "browser-obeys-policy",
  async () => {
    await using lab = await openSecretLab();
    await lab.store.set("local", "key", VALUE);
    const [allowed, sockets, denied] = await Promise.all([
      lab.https("site.test", site),
      lab.http("sockets.test", site),
      lab.https("denied.test", site),
    ]);
    const echo = new WebSocketServer({ noServer: true });
    sockets.server.on("upgrade", (request: IncomingMessage, socket: Duplex, head: Buffer) =>
      echo.handleUpgrade(request, socket, head, (one) => one.send("hello")),
    );
    const sandbox = await lab.sandbox({
      network: { allow: [allowed.authority, sockets.authority] },
      secrets: { API_KEY: { secret: "key", hosts: [allowed.authority] } },
      limits: { pids: 512 },
    });
    await using browsers = new Browsers({ idleMs: 600_000 });
    const tab = browsers.of(sandbox, "test");
    const evaluate = async (expression: string): Promise<unknown> =>
      JSON.parse((await tab.call(EVALUATE, { expression }, patiently())).value.json);
    const page = await tab.call(NAVIGATE, { url: `${allowed.url}/` }, patiently());
    expect(page.value).toMatchObject({ title: "site", status: 200 });

    const placeholder = (await sandbox.environment())["API_KEY"];
    const echoed = `fetch('/', { headers: { authorization: 'Bearer ${placeholder}' } }).then((one) => one.text())`;
    expect(await evaluate(echoed)).toBe(`<title>site</title>Bearer ${placeholder}`);
    // Chromium may ask for a picture of the site meanwhile.
    expect(allowed.requests.map(({ headers }) => headers.authorization)).toContain(`Bearer ${VALUE}`);

    await tab.call(NAVIGATE, { url: `${allowed.url}/?key=${placeholder}` }, patiently());
    expect(allowed.requests.map(({ url }) => url)).toContain(`/?key=${VALUE}`);

    expect(await evaluate(viaFetch(`${denied.url}/fetched`))).toBe("refused");
    expect(await evaluate(viaWorker(`${denied.url}/worker`))).toBe("refused");
    expect(await evaluate(viaSocket(`wss://${denied.authority}/`))).toBe("refused");
    expect(await evaluate(viaWorker(`${allowed.url}/`))).toBe("reached");
    const refused = tab.call(NAVIGATE, { url: `${denied.url}/visited` }, patiently());
    await expect(refused).rejects.toMatchObject({ code: "NAVIGATION_FAILED" });
    await tab.call(NAVIGATE, { url: `${sockets.url}/` }, patiently());
    expect(await evaluate(viaSocket(`ws://${sockets.authority}/`))).toBe("hello");
    const metadata = tab.call(NAVIGATE, { url: "http://169.254.169.254/latest/meta-data/" }, patiently());
    await expect(metadata.then(({ value }) => value.status)).resolves.toBe(403);

    // What it asks by itself comes some seconds after its start.
    await pause(10_000);
    expect(denied.requests).toEqual([]);
    const hosts = new Set(lab.records.map(({ host }) => host));
    expect(hosts).toEqual(new Set(["site.test", "sockets.test", "denied.test", "169.254.169.254"]));
  },
  60_000,
);
