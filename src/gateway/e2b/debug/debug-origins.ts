import type { ClaimedOrigin, ClaimedOriginOptions } from "../../claimed-origin.ts";
import { claimOrigin } from "../../claimed-origin.ts";
import { createOrigin } from "../../surfaces/origin.ts";
import type { SurfaceAppOptions } from "../../surfaces/surface-app.ts";
import type { E2b } from "../e2b.ts";
import { debugSurfaces } from "./debug-surfaces.ts";

/** By the name that E2B's SDKs ask, at all its addresses. Whatever address the server has, these have none that others reach. */
const HOST = "localhost";

export interface DebugOriginsOptions {
  readonly e2b: E2b;
  readonly shared: Omit<SurfaceAppOptions, "host">;
  readonly listeners: ClaimedOriginOptions["listeners"];
}

/** What E2B's SDKs with `E2B_DEBUG` find at fixed ports. */
export interface DebugOrigins {
  /** Resolves with the addresses once all listen. On a rejection none does. */
  listen(): Promise<readonly URL[]>;
  close(graceMs: number): Promise<void>;
}

export function createDebugOrigins({ e2b, shared, listeners }: DebugOriginsOptions): DebugOrigins {
  const origins = debugSurfaces(e2b).map(({ port, surface }) =>
    claimOrigin(createOrigin([surface], { ...shared, host: HOST }), { host: HOST, port, listeners }),
  );
  let open: readonly ClaimedOrigin[] = [];
  const close = async (graceMs: number): Promise<void> => {
    const closing = open;
    open = [];
    await Promise.all(closing.map((origin) => origin.close(graceMs)));
  };
  return {
    async listen() {
      const addresses: URL[] = [];
      for (const origin of origins) {
        const address = await origin.listen().catch(async (error: unknown) => {
          await close(0);
          throw error;
        });
        open = [...open, origin];
        addresses.push(address);
      }
      return addresses;
    },
    close,
  };
}
