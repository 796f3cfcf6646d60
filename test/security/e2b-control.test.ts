import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { Sandbox } from "e2b";
import { expect } from "vitest";
import { controlRoutes } from "../../src/gateway/e2b/control/control-routes.ts";
import type { E2b } from "../../src/gateway/e2b/e2b.ts";
import type { Route } from "../../src/gateway/routes/route.ts";
import { openE2bInside } from "../support/e2b-inside.ts";
import type { E2bLab } from "../support/e2b-lab.ts";
import { openE2bLab } from "../support/e2b-lab.ts";
import { createNoSandboxes } from "../support/no-sandboxes.ts";
import { verifies } from "./verifies.ts";

const UNKNOWN = "a1b2c3d4e5f6g7h8i9j0";
/** What a route takes that takes no empty object. */
const BODIES: Readonly<Record<string, unknown>> = {
  "POST /sandboxes": { templateID: "base" },
  "POST /v2/sandboxes": { templateID: "base" },
  "POST /sandboxes/:id/timeout": { timeout: 60 },
};

/** Every route, as the gateway has it. */
function routes(): readonly Route[] {
  return controlRoutes({ sandboxes: createNoSandboxes(), settings: {} } as unknown as E2b);
}

async function ask(
  lab: E2bLab,
  { method, path }: Pick<Route, "method" | "path">,
  { id = UNKNOWN, key }: { id?: string; key?: string | undefined },
) {
  const named = path.replace(":id", id).replaceAll(/:\w+/g, UNKNOWN);
  const body = method === "GET" || method === "DELETE" ? {} : { body: JSON.stringify(BODIES[`${method} ${path}`] ?? {}) };
  const headers = { ...(key !== undefined && { "x-api-key": key }), ...("body" in body && { "content-type": "application/json" }) };
  const answer = await lab.ask(named, { method, headers, ...body });
  return { status: answer.status, text: await answer.text() };
}

verifies(
  "e2b-keys-alone",
  async () => {
    await using lab = await openE2bLab();
    const { stdout: belljar } = await lab.cli.run(["token", "create", "agent"]);
    const revoked = await lab.makeKey("gone");
    expect((await lab.askAsOwner("/v2/sandboxes")).status, "a key that is valid").toBe(200);
    const { stdout: tokens } = await lab.cli.run(["token", "list", "--json"]);
    const { id: revokedId = "" } =
      (JSON.parse(tokens) as readonly { readonly id: string; readonly name: string }[]).find((one) => one.name === "gone") ?? {};
    await lab.cli.run(["token", "revoke", revokedId]);
    const keys = [
      undefined,
      "",
      "e2b_",
      revoked,
      `${lab.key}0`,
      lab.key.toUpperCase(),
      `${lab.key.slice(0, -1)}${lab.key.endsWith("0") ? "1" : "0"}`,
    ];
    for (const route of routes())
      for (const key of keys) {
        const { status, text } = await ask(lab, route, { key });
        expect([status, (JSON.parse(text) as { code: number }).code], `${route.method} ${route.path} with ${key}`).toEqual([401, 401]);
      }
    for (const route of routes()) {
      const { status, text } = await ask(lab, route, { key: belljar.trim() });
      expect([status, (JSON.parse(text) as { code: number }).code], `${route.method} ${route.path} with a token`).toEqual([403, 403]);
    }
  },
  60_000,
);

verifies(
  "e2b-owners-apart",
  async () => {
    await using lab = await openE2bLab();
    await using _snapshots = await openE2bInside(lab);
    const mine = await Sandbox.create(lab.options);
    const { snapshotId } = await mine.createSnapshot({ name: "mine" });
    const key = await lab.makeKey("mallory");
    const ofOne = routes().filter(({ path }) => path.includes("/sandboxes/:id"));
    expect(ofOne.length).toBeGreaterThan(13);
    for (const route of ofOne) {
      const [foreign, unknown] = [await ask(lab, route, { id: mine.sandboxId, key }), await ask(lab, route, { key })];
      expect([foreign.status, foreign.text.replaceAll(mine.sandboxId, UNKNOWN)], `${route.method} ${route.path}`).toEqual([
        404,
        unknown.text,
      ]);
    }
    const options = { ...lab.options, apiKey: key };
    expect(await Sandbox.list(options).nextItems()).toEqual([]);
    expect(await Sandbox.listSnapshots(options).nextItems()).toEqual([]);
    expect(await Sandbox.listSnapshots({ ...options, sandboxId: mine.sandboxId }).nextItems()).toEqual([]);
    for (const template of [snapshotId, "mine"]) await expect(Sandbox.create(template, options)).rejects.toThrow(/404: template/);
    const metrics = await lab.ask(`/sandboxes/metrics?sandbox_ids=${mine.sandboxId}`, { headers: { "x-api-key": key } });
    expect(await metrics.json()).toEqual({ sandboxes: {} });
    // The page token of somebody else's list leads nowhere else.
    const { headers } = await lab.askAsOwner("/v2/sandboxes?limit=1");
    expect(headers.get("x-next-token")).toBeNull();
    expect((await mine.getInfo()).state, "it lives").toBe("running");

    // A key that only reads lists what there is, and gets no token of it.
    const reader = await lab.makeKey("agent", ["read-only"]);
    const read = async (path: string): Promise<number> => (await lab.ask(path, { headers: { "x-api-key": reader } })).status;
    expect([
      await read("/v2/sandboxes"),
      await read(`/sandboxes/${mine.sandboxId}/metrics`),
      await read(`/sandboxes/${mine.sandboxId}`),
    ]).toEqual([200, 200, 403]);
  },
  60_000,
);

verifies(
  "e2b-no-places-inside",
  async () => {
    const listener = createServer((_request, answer) => answer.end("the host's"));
    listener.listen(0, "127.0.0.1");
    await once(listener, "listening");
    try {
      const { port } = listener.address() as AddressInfo;
      const place = `127.0.0.1:${port}`;
      await using lab = await openE2bLab();
      await using inside = await openE2bInside(lab);
      const program = (host: string): string =>
        `import urllib.request as u; print(u.build_opener(u.ProxyHandler({"http":"http://127.0.0.1:3128"})).open("http://${host}/",timeout=20).read().decode())`;
      const own = new URL("/health", lab.url).host;
      const reach = (id: string): Promise<string> =>
        inside.run(id, [place, own].map((host) => `python3 -c '${program(host)}' 2>/dev/null || echo refused`).join(";"));
      // The attack: the same owner, in a sandbox of Belljar's own clients that may reach the place.
      const { stdout } = await lab.cli.run(["token", "create", "agent", "--scope", `network:${place}`]);
      const env = { BELLJAR_URL: lab.url, BELLJAR_TOKEN: stdout.trim() };
      const open = await lab.cli.run(["sandbox", "create", "--network", place], { env });
      const opened = await lab.cli.run(["exec", open.stdout.trim(), "--", "python3", "-c", program(place)], { env });
      expect(opened.stdout.trim(), opened.stderr).toBe("the host's");

      for (const scopes of [["network:all"], [`network:${place}`, "network:example.com"]]) {
        const options = { ...lab.options, apiKey: await lab.makeKey("agent", scopes) };
        const sandbox = await Sandbox.create(options);
        expect(await reach(sandbox.sandboxId), scopes.join()).toBe("refused\nrefused");
        await sandbox.updateNetwork({});
        expect(await reach(sandbox.sandboxId), scopes.join()).toBe("refused\nrefused");
        for (const allowOut of [["127.0.0.1"], [place], ["169.254.169.254"], ["10.0.0.0/8"], ["localhost"]]) {
          const network = { allowOut, denyOut: ["0.0.0.0/0"] };
          await expect(sandbox.updateNetwork(network), allowOut[0]).rejects.toThrow(/^400: /);
          await expect(Sandbox.create({ ...options, network }), allowOut[0]).rejects.toThrow(/^400: /);
        }
        await sandbox.updateNetwork({ allowOut: ["127.0.0.1.nip.io", "example.com"], denyOut: ["0.0.0.0/0"] }).catch(() => undefined);
        expect(await reach(sandbox.sandboxId), scopes.join()).toBe("refused\nrefused");
      }
      await expect(
        Sandbox.create({
          ...lab.options,
          apiKey: await lab.makeKey("agent", ["network:npm"]),
          network: { allowOut: ["example.com"], denyOut: ["0.0.0.0/0"] },
        }),
      ).rejects.toThrow(/^403: /);
    } finally {
      listener.close();
    }
  },
  60_000,
);
