import { fromDockerfile } from "./from-dockerfile.ts";
import type { Making, MakingParts, Wish } from "./making.ts";

const COPY_ALL = "FROM scratch\nCOPY . /\n";

/** A folder of the host that holds what is to be the root folder: built as a Dockerfile that copies it, and kept as that is. */
export async function fromFolder(parts: MakingParts, wish: Wish, folder: string): Promise<Making> {
  const making = await fromDockerfile(parts, { ...wish, options: { ...wish.options, context: folder } }, COPY_ALL);
  return { ...making, source: { kind: "folder", path: folder } };
}
