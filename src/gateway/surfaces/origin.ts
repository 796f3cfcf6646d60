import type { IncomingMessage, Server, ServerResponse } from "node:http";
import { acceptBoth, acceptPlain } from "./acceptor.ts";
import { createListeners } from "./listeners.ts";
import type { Surface } from "./surface.ts";
import type { SurfaceApp, SurfaceAppOptions, SurfaceRoute } from "./surface-app.ts";
import { ARRIVAL_MS, createSurfaceApp } from "./surface-app.ts";
import type { Claimant, Root } from "./surface-map.ts";
import { createSurfaceMap } from "./surface-map.ts";
import { createUpgrades } from "./upgrades.ts";
import type { Upgrader } from "./upgrades.ts";

/** All surfaces behind one address. */
export interface Origin {
  readonly routes: readonly SurfaceRoute[];
  /** Who answers what. */
  readonly roots: readonly Root[];
  /** Resolves with the address once it accepts requests. */
  listen(port: number): Promise<URL>;
  /** Takes no new connections, has the surfaces end their work within `graceMs`, then cuts what is left. */
  close(graceMs: number): Promise<void>;
}

/** A surface that is served. */
interface Answerer extends Upgrader, Claimant {
  handle(request: IncomingMessage, response: ServerResponse): void;
}

/** Throws for surfaces that overlap, for one that is not safe, and for a route without a scope. */
export function createOrigin(surfaces: readonly Surface[], options: SurfaceAppOptions): Origin {
  const { arrivalMs = ARRIVAL_MS } = options;
  const apps: SurfaceApp[] = [];
  const answerers = surfaces.map((surface): Answerer => {
    const { name, reach } = surface;
    if (surface.kind === "raw") {
      return { name, reach, isRaw: true, handle: (...pair) => surface.handle(...pair), upgrade: (upgrade) => surface.upgrade(upgrade) };
    }
    const app = createSurfaceApp(surface, options);
    apps.push(app);
    return {
      name,
      reach,
      isRaw: false,
      paths: app.paths,
      handle: (...pair) => app.handle(...pair),
      upgrade: (upgrade) => app.upgrade(upgrade),
    };
  });
  const map = createSurfaceMap(answerers);
  const upgrades = createUpgrades(map.find);
  const serve = (server: Server): void => {
    serveRequests(server, map.find);
    upgrades.watch(server);
  };
  const hasTls = surfaces.some(({ reach }) => reach.tls !== undefined);
  const listeners = createListeners(() => (hasTls ? acceptBoth(serve, map.findTls, arrivalMs) : acceptPlain(serve, arrivalMs)));
  return {
    roots: map.roots,
    get routes() {
      return apps.flatMap((app) => app.routes());
    },
    async listen(port) {
      await Promise.all(apps.map((app) => app.ready()));
      return listeners.open(options.host, port);
    },
    async close(graceMs) {
      const closed = listeners.close();
      await Promise.all(apps.map((app) => app.endWork(graceMs)));
      upgrades.close();
      for (const surface of surfaces) if (surface.kind === "raw") surface.close();
      listeners.cut();
      await closed;
      await Promise.all(apps.map((app) => app.close()));
    },
  };
}

/** Raw surfaces get a request before anything of the server's own looks at it: no body limit, no parser, no time limit on an upload. */
function serveRequests(server: Server, find: (request: IncomingMessage) => Answerer): void {
  server.on("request", (request: IncomingMessage, response: ServerResponse) => {
    find(request).handle(request, response);
  });
}
