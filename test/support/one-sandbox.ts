import type { Duplex } from "node:stream";
import type { Guest } from "../../src/runtime/guest/guest.ts";
import type { Sandbox, SandboxInfo, Sandboxes } from "../../src/sandbox/sandbox.ts";
import { refusedTimeLine } from "../../src/sandbox/state/refused-states.ts";
import { INSIDE } from "./run-of.ts";
import { createNoSandboxes } from "./no-sandboxes.ts";

export const SANDBOX_ID = "a1b2c3d4e5f6g7h8i9j0";

const FOLDERS = { home: INSIDE.home, workspace: INSIDE.workspace, cwd: INSIDE.cwd };

/** A home with one sandbox, whose streams to the guest `connect` opens. */
export function createOneSandbox(connect: (signal: AbortSignal) => Promise<Duplex>): Sandboxes {
  const info: SandboxInfo = {
    id: SANDBOX_ID,
    shortId: SANDBOX_ID.slice(0, 8),
    owner: "local",
    state: "running",
    template: "base",
    runtime: "fake",
    createdAt: new Date(0),
    inside: FOLDERS,
    limits: {},
    unenforced: [],
    network: "none",
    metadata: {},
  };
  const refuse = async (): Promise<never> => {
    throw new TypeError("This test's sandbox has streams alone");
  };
  // Only `connect` is used: the gateway passes bytes and knows no guest.
  const sandbox: Sandbox = {
    id: SANDBOX_ID,
    owner: "local",
    inside: FOLDERS,
    guest: {} as Guest,
    timeLine: refusedTimeLine(refuse),
    connect,
    info: async () => info,
    usage: refuse,
    knownOomKills: refuse,
    workspaceBase: refuse,
    workspaceBaseText: refuse,
    extend: refuse,
    pause: refuse,
    resume: refuse,
    stop: refuse,
    start: refuse,
    setNetwork: refuse,
    watchRefusals: refuse,
    environment: refuse,
    ports: refuse,
    portLinks: refuse,
    registerPort: refuse,
    removePort: refuse,
    kill: refuse,
  };
  const none = createNoSandboxes();
  const isKnown = (id: string): boolean => id !== "" && SANDBOX_ID.startsWith(id);
  return {
    ...none,
    get: async (principal, id) => (isKnown(id) ? sandbox : none.get(principal, id)),
    getStarted: async (principal, id, signal) => (isKnown(id) ? { sandbox } : none.getStarted(principal, id, signal)),
    getLinked: async (id) => (isKnown(id) ? sandbox : none.getLinked(id)),
    linkedIds: async () => [SANDBOX_ID],
    info: async (principal, id) => (isKnown(id) ? info : none.info(principal, id)),
    list: async () => ({ sandboxes: [info] }),
  };
}
