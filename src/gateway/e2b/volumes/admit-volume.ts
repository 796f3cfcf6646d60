import type { IncomingMessage } from "node:http";
import type { Principal } from "../../../sandbox/sandbox.ts";
import type { VolumeFiles } from "../../../sandbox/volumes/volumes.ts";
import type { E2b } from "../e2b.ts";
import { NEEDED } from "../control/scopes.ts";

/** Who asks for the files of volumes: whoever holds a volume's token. */
export interface VolumeAdmission {
  /** For a surface's `identify`. */
  readonly identify: (request: IncomingMessage) => Promise<Principal | undefined>;
  /** The files of the volume of a request that was let in. */
  of(request: object): VolumeFiles;
}

/**
 * A volume is found for whoever holds its token while its owner has a key that may do all that one may with a sandbox: the request then acts as the
 * owner. The path must name the volume that the token is for.
 */
export function createVolumeAdmission({ volumes, tokens, keys }: Pick<E2b, "volumes" | "tokens" | "keys">): VolumeAdmission {
  const admitted = new WeakMap<object, VolumeFiles>();
  return {
    async identify(request) {
      const [, token] = /^bearer +(\S+)$/i.exec(request.headers.authorization ?? "") ?? [];
      const id = token === undefined ? undefined : tokens.idOf("volume", token);
      if (id === undefined || !volumes || id !== namedIn(request)) return undefined;
      const volume = await volumes.getLinked(id);
      const { owner } = volume;
      const [grants] = (await keys.of(owner)).filter(
        ({ toolsets }) => toolsets === undefined || NEEDED.every((one) => toolsets.includes(one)),
      );
      if (!grants) return undefined;
      if (!admitted.has(request)) admitted.set(request, await volumes.files(volume));
      return { id: owner, name: owner.replace(/^token:/, ""), grants };
    },
    of(request) {
      const files = admitted.get(request);
      // Fails closed: a route that is open to everybody has no volume.
      if (!files) throw new TypeError("A request is served that was never admitted to a volume");
      return files;
    },
  };
}

function namedIn({ url = "" }: Pick<IncomingMessage, "url">): string | undefined {
  return /^\/volumecontent\/([a-z0-9]+)\//.exec(url)?.[1];
}
