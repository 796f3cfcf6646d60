import type { ClaimedPort, OwnListeners } from "../network/own-listeners.ts";
import type { Origin } from "./surfaces/origin.ts";

export interface ClaimedOriginOptions {
  readonly host: string;
  readonly port: number;
  /** Where it says on which port it listens, so that no sandbox is led there. */
  readonly listeners: Pick<OwnListeners, "claim"> | undefined;
}

/** An origin whose port belongs to Belljar before anything listens there. */
export interface ClaimedOrigin extends Pick<Origin, "close"> {
  listen(): Promise<URL>;
}

export function claimOrigin(origin: Origin, { host, port, listeners }: ClaimedOriginOptions): ClaimedOrigin {
  let claimed: ClaimedPort | undefined;
  const release = async (): Promise<void> => {
    await claimed?.[Symbol.asyncDispose]();
    claimed = undefined;
  };
  return {
    async listen() {
      claimed = await listeners?.claim({ host, port });
      return origin.listen(claimed?.port ?? port).catch(async (error: unknown) => {
        await release();
        throw error;
      });
    },
    async close(graceMs) {
      await origin.close(graceMs);
      await release();
    },
  };
}
