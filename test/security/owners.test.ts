import { expect } from "vitest";
import { openGuestStream } from "../../src/remote/server-connection.ts";
import { createSandboxId } from "../../src/sandbox/sandbox-id.ts";
import { textOf } from "../support/tool-caller.ts";
import type { Member, TeamLab } from "../support/team-lab.ts";
import { openTeamLab } from "../support/team-lab.ts";
import { listed } from "../support/listed.ts";
import { makeOwned, type Owned, plain, walkResources, walkTool } from "./support/walk-owned.ts";
import { verifies } from "./verifies.ts";

const soon = (): AbortSignal => AbortSignal.timeout(30_000);

verifies("owners-apart", async () => {
  await using lab = await openTeamLab();
  const [owner, stranger] = [lab.alice.principal, lab.bob.principal];
  const owned = await makeOwned(lab, owner);
  const walk = { owned, owner, stranger };
  const own = await lab.catalog.call(owner, "read_file", { path: "note", sandbox: owned.sandbox }, { signal: soon() });
  expect(textOf(own)).toContain("of the owner");
  let walked = 0;
  for (const tool of lab.catalog.listAll(stranger)) walked += await walkTool(lab, tool, walk);
  expect(walked).toBeGreaterThan(45);
  await walkRoutes(lab, owned);
  await walkResources(lab, walk);
  expect((await lab.sandboxes.info(owner, owned.sandbox)).state).toBe("running");
  expect(await listed(lab.sandboxes, owner)).toHaveLength(1);
});

/** What each route with an id is sent; a route with one that is not here fails the walk. */
const BODIES: Readonly<Record<string, object | undefined>> = {
  "GET /v1/sandboxes/:id": undefined,
  "GET /v1/sandboxes/:id/checkpoints": undefined,
  "GET /v1/sandboxes/:id/contexts": undefined,
  "GET /v1/sandboxes/:id/environment": undefined,
  "GET /v1/sandboxes/:id/network": undefined,
  "GET /v1/sandboxes/:id/ports": undefined,
  "GET /v1/sandboxes/:id/usage": undefined,
  "POST /v1/sandboxes/:id/checkpoints": {},
  "POST /v1/sandboxes/:id/contexts": {},
  "POST /v1/sandboxes/:id/contexts/:context/interrupt": {},
  "POST /v1/sandboxes/:id/contexts/:context/restart": {},
  "POST /v1/sandboxes/:id/diff": { from: "abcd2345" },
  "POST /v1/sandboxes/:id/extend": { timeoutMs: 1_000_000 },
  "POST /v1/sandboxes/:id/merge": { from: "abcd2345" },
  "POST /v1/sandboxes/:id/rollback": { to: "abcd2345" },
  "POST /v1/sandboxes/:id/snapshots": {},
  "POST /v1/sandboxes/:id/undo": { to: "abcd2345", paths: ["/home/user/note"] },
  "POST /v1/sandboxes/:id/pause": {},
  "POST /v1/sandboxes/:id/resume": {},
  "POST /v1/sandboxes/:id/stop": {},
  "POST /v1/sandboxes/:id/start": {},
  "POST /v1/sandboxes/:id/ports": { port: 8080 },
  "POST /v1/sandboxes/:id/refusals": {},
  "POST /v1/sandboxes/:id/workspace-base": { keys: ["a"] },
  "POST /v1/sandboxes/:id/workspace-base/text": { key: "a" },
  "PUT /v1/sandboxes/:id/network": { policy: "none" },
  "DELETE /v1/sandboxes/:id": undefined,
  "DELETE /v1/sandboxes/:id/checkpoints/:checkpoint": undefined,
  "DELETE /v1/sandboxes/:id/contexts/:context": undefined,
  "DELETE /v1/sandboxes/:id/ports/:port": undefined,
};

const pathOf = (route: string, id: string): string =>
  route.replace(":id", id).replace(":port", "8080").replace(":checkpoint", "abcd2345").replace(":context", "python");
/** What the lab's sandboxes can say. */
const isAnswered = (route: string): boolean => route.startsWith("GET") && !/\/(ports|checkpoints|contexts)$/.test(route);

async function walkRoutes(lab: TeamLab, { sandbox }: Owned): Promise<void> {
  // Those of templates are walked by templates-apart.
  const routes = lab.routes.filter((route) => route.includes(":id") && !route.includes("/templates/:"));
  expect(Object.keys(BODIES).toSorted()).toEqual(routes.toSorted());
  const unknown = createSandboxId();
  for (const [route, body] of Object.entries(BODIES)) {
    for (const [theirs, none] of [
      [sandbox, unknown],
      [sandbox.slice(0, 8), unknown.slice(0, 8)],
    ] as const) {
      const asked = await lab.ask(lab.bob, pathOf(route, theirs), body);
      const missed = await lab.ask(lab.bob, pathOf(route, none), body);
      expect({ ...asked, text: plain(asked.text, theirs) }, route).toEqual({ ...missed, text: plain(missed.text, none) });
      expect(asked.text, route).toContain("SANDBOX_NOT_FOUND");
    }
    if (isAnswered(route)) expect((await lab.ask(lab.alice, pathOf(route, sandbox))).status).toBe(200);
  }
  const stream = (member: Member, id: string) => openGuestStream({ url: lab.url, token: member.token }, id, soon());
  (await stream(lab.alice, sandbox)).destroy();
  await expect(stream(lab.bob, sandbox)).rejects.toMatchObject({ code: "SANDBOX_NOT_FOUND" });
  expect((await lab.ask(lab.bob, "GET /v1/sandboxes")).text).not.toContain(sandbox);
}
